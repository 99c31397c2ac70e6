// POST /v1/jobs and POST /v1/jobs/batch: clients' jobs enter the ledger. A plain job is one `pool` job with its task; a
// replicated one is a `pool_quorum` job with its replicas.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { idempotencyConflict } from '../../../core/http/request/idempotency.ts'
import type { HttpError } from '../../../core/http/errors/http-error.ts'
import { preferredWaitMs, waitSignal } from '../../../core/http/request/prefer.ts'
import { isEnded } from '../../../core/ledger/ended.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { NewJob } from '../../../core/ledger/submit/submit.ts'
import { refused, type Refused } from '../../../core/values/outcome.ts'
import type { QuotaAnswer } from '../../../core/quotas/quota.ts'
import { assertQuota } from '../../../core/quotas/quotas.ts'
import { newJobId } from '../../../core/random.ts'
import { poolError } from '../errors.ts'
import { addQuorum } from '../quorum/quorum-rows.ts'
import type { ReplicatedJobs } from '../quorum/replicated-jobs.ts'
import { replicasOf } from '../quorum/replicas.ts'
import type { PoolSettings } from '../settings.ts'
import { taskOf } from '../tasks/kinds.ts'
import { POOL_KIND, QUORUM_KIND, type ClientPayload } from '../tasks/payload.ts'
import type { RequirementClasses } from '../tasks/requirement-classes.ts'
import { addTask } from '../tasks/task-rows.ts'
import { documented, sendJson } from '../wire.ts'
import { clientJob, JobBrief, JobView, statusOf, viewOf, type JobViewDeps } from './job-view.ts'
import type { ClientQuotas } from './client-quotas.ts'
import { BATCH_MAX, jobRequestFrom, jobRequestsFrom, NewJobBody, NewJobsBody, type PoolJobRequest } from './new-job.ts'

export type SubmitJobsAnswer =
  /** `isDuplicate`: a key named some of them before. */
  | { ok: true; jobIds: string[]; isDuplicate: boolean }
  | Refused<'idempotency_conflict' | 'too_many_requirements'>
  | QuotaRefusal

type QuotaRefusal = Exclude<QuotaAnswer, { ok: true }>

/** All of one client, all or none. */
export type SubmitJobs = (requests: readonly PoolJobRequest[]) => Promise<SubmitJobsAnswer>

export interface SubmitJobsDeps {
  ledger: Ledger
  classes: RequirementClasses
  settings: PoolSettings
  replicated: ReplicatedJobs
  quotas: ClientQuotas
  onReady(): void
}

export const openSubmitJobs = (deps: SubmitJobsDeps): SubmitJobs => {
  const { ledger, quotas, onReady } = deps
  return async (requests) => {
    const [first] = requests
    if (first === undefined) return { ok: true, jobIds: [], isDuplicate: false }
    const bytes = requests.reduce((sum, { job }) => sum + Buffer.byteLength(job), 0)
    const quota = await quotas.take(first.clientId, { jobs: requests.length, bytes })
    if (!quota.ok) return (await namedBefore(ledger, requests)) ?? quota
    const jobs: NewJob[] = []
    for (const request of requests) {
      const job = await ledgerJobFor(deps, request)
      if (job === null) return refused('too_many_requirements')
      jobs.push(job)
    }
    const [only] = jobs
    const answers =
      jobs.length === 1 && only !== undefined ? [await ledger.submit(only)] : await ledger.submitMany(jobs)
    const jobIds: string[] = []
    for (const answer of answers) {
      if (!answer.ok) return answer
      jobIds.push(answer.jobId)
    }
    const fresh = answers.filter((answer) => answer.ok && !answer.duplicate)
    if (fresh.length > 0) onReady()
    return { ok: true, jobIds, isDuplicate: fresh.length < jobs.length }
  }
}

/** A repeat is answered as the first time, however many jobs wait by now. Null: some of them are new. */
async function namedBefore(ledger: Ledger, requests: readonly PoolJobRequest[]): Promise<SubmitJobsAnswer | null> {
  const jobIds: string[] = []
  for (const { idempotency } of requests) {
    const named = idempotency === null ? null : await ledger.findNamed(idempotency)
    if (named === null || !named.ok) return named
    jobIds.push(named.jobId)
  }
  return { ok: true, jobIds, isDuplicate: true }
}

/** Null: the client has too many different requirements. */
async function ledgerJobFor(deps: SubmitJobsDeps, request: PoolJobRequest): Promise<NewJob | null> {
  const { classes, settings, replicated } = deps
  const { clientId: accountId, requirements, priority, idempotency, trace } = request
  const classId = await classes.classFor(accountId, requirements)
  if (classId === null) return null
  const jobId = newJobId()
  const payload = payloadFor(request, settings.POOL_TIMEOUT_SECONDS)
  const common = { jobId, payload, payloadBytes: request.job.length, priority, accountId, trace, idempotency }
  if (request.replicas === 1) {
    return { kind: POOL_KIND, effects: [addTask(taskOf(jobId, priority, payload, { classId }))], ...common }
  }
  const { replicas: issued } = request
  const effects = [addQuorum(jobId, payload, { classId }, { issued, extraReplicas: settings.POOL_EXTRA_REPLICAS })]
  const job = { jobId, priority, accountId, traceId: trace?.traceId ?? null, payload }
  replicated.keep(job)
  const parts = replicasOf(job, { count: issued, classId })
  // A replicated job has no attempts of its own to count: its replicas do.
  return { kind: QUORUM_KIND, effects, parts, maxAttempts: null, ...common }
}

const payloadFor = (request: PoolJobRequest, timeoutSec: number): ClientPayload => ({
  job: request.job,
  region: request.requirements.region,
  specs: request.requirements.specs,
  replicas: request.replicas,
  quorum: request.quorum,
  callback_url: request.callbackUrl,
  requires_hash: request.requiresHash,
  timeout_seconds: request.timeoutSec ?? timeoutSec,
  max_attempts: request.maxAttempts,
  agree: request.agree,
})

export interface SubmitJobRouteDeps extends JobViewDeps {
  submitJobs: SubmitJobs
  ledger: Ledger
  allowInsecure: boolean
}

const config = { passesJsonOn: true }

function submitError(answer: SubmitJobsAnswer & { ok: false }): HttpError {
  if (answer.code === 'quota_exceeded') assertQuota(answer)
  return answer.code === 'too_many_requirements' ? poolError(answer.code) : idempotencyConflict()
}

export const submitJobRoute =
  ({ submitJobs, ledger, allowInsecure, ...views }: SubmitJobRouteDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      ...documented,
      summary: 'Submit a job. `Prefer: wait=N` (at most 50) waits for its end. `Idempotency-Key` is taken.',
      body: NewJobBody,
      response: { 200: JobView, 202: JobBrief, ...refusals(401, 403, 409, 413, 422, 429) },
    }
    app.post('/v1/jobs', { config, schema }, async (request, reply) => {
      const answer = await submitJobs([await jobRequestFrom(request, allowInsecure)])
      if (!answer.ok) throw submitError(answer)
      const jobId = answer.jobIds[0] ?? ''
      const timeoutMs = preferredWaitMs(request)
      if (timeoutMs === 0) return sendJson(reply.code(202), { job_id: jobId, status: 'pending' })

      reply.header('preference-applied', `wait=${timeoutMs / 1000}`)
      const job = await ledger.awaitEnd(jobId, {
        timeoutMs,
        signal: waitSignal(request, reply),
        isFresh: !answer.isDuplicate,
      })
      const found = clientJob(job, accountOf(request).accountId)
      if (found === null) throw poolError('job_not_found')
      if (isEnded(job)) return sendJson(reply.code(200), await viewOf(views, found))
      return sendJson(reply.code(202), { job_id: jobId, status: await statusOf(views.database, found.job) })
    })
  }

export const submitBatchRoute =
  ({
    submitJobs,
    allowInsecure,
  }: Pick<SubmitJobRouteDeps, 'submitJobs' | 'allowInsecure'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      ...documented,
      summary: `Submit up to ${BATCH_MAX} jobs at once: all of them, or none. \`Idempotency-Key\` is taken.`,
      body: NewJobsBody,
      response: { 202: Type.Object({ jobs: Type.Array(JobBrief) }), ...refusals(401, 403, 409, 413, 422, 429) },
    }
    app.post('/v1/jobs/batch', { config, schema }, async (request, reply) => {
      const answer = await submitJobs(await jobRequestsFrom(request, allowInsecure))
      if (!answer.ok) throw submitError(answer)
      return reply.code(202).send({ jobs: answer.jobIds.map((jobId) => ({ job_id: jobId, status: 'pending' })) })
    })
  }
