// POST /v1/jobs: a client's job enters the ledger. A plain job is one `pool` job with its task; a replicated one is a
// `pool_quorum` job, and settling it submits its replicas.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Database } from '../../../core/db/database.ts'
import { refusals } from '../../../core/http/errors/detail.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { idempotencyConflict } from '../../../core/http/request/idempotency.ts'
import { preferredWaitMs, waitSignal } from '../../../core/http/request/prefer.ts'
import { isEnded } from '../../../core/ledger/ended.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { refused, type Refused } from '../../../core/outcome.ts'
import { newJobId } from '../../../core/random.ts'
import { poolError } from '../errors.ts'
import { addQuorum } from '../quorum/quorum-rows.ts'
import type { Quorums } from '../quorum/settle.ts'
import type { PoolSettings } from '../settings.ts'
import { taskOf } from '../tasks/kinds.ts'
import { POOL_KIND, QUORUM_KIND, type ClientPayload } from '../tasks/payload.ts'
import type { RequirementClasses } from '../tasks/requirement-classes.ts'
import { addTask } from '../tasks/task-rows.ts'
import { documented, sendJson } from '../wire.ts'
import { clientJob, JobBrief, JobView, statusOf, viewOf } from './job-view.ts'
import { jobRequestFrom, NewJobBody, type PoolJobRequest } from './new-job.ts'

export type SubmitJobAnswer = { ok: true; jobId: string } | Refused<'idempotency_conflict' | 'too_many_requirements'>

export type SubmitJob = (request: PoolJobRequest) => Promise<SubmitJobAnswer>

export interface SubmitJobDeps {
  ledger: Ledger
  classes: RequirementClasses
  settings: PoolSettings
  quorums: Quorums
  onReady(): void
}

export const openSubmitJob =
  ({ ledger, classes, settings, quorums, onReady }: SubmitJobDeps): SubmitJob =>
  async (request) => {
    const { clientId: accountId, requirements, priority, idempotency, traceId } = request
    const classId = await classes.classFor(accountId, requirements)
    if (classId === null) return refused('too_many_requirements')
    const jobId = newJobId()
    const payload = payloadFor(request, settings.POOL_TIMEOUT_SECONDS)
    const common = { jobId, payload, priority, accountId, traceId, idempotency }
    if (request.replicas === 1) {
      const effects = [addTask(taskOf(jobId, priority, payload, { classId }))]
      const answer = await ledger.submit({ ...common, kind: POOL_KIND, effects })
      if (answer.ok && !answer.duplicate) onReady()
      return answer
    }
    const effects = [addQuorum(jobId, payload, { classId }, settings.POOL_EXTRA_REPLICAS)]
    // A replicated job has no attempts of its own to count: its replicas do.
    const answer = await ledger.submit({ ...common, kind: QUORUM_KIND, effects, maxAttempts: null })
    if (answer.ok && !answer.duplicate) await quorums.settle(jobId)
    return answer
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
})

export interface SubmitJobRouteDeps {
  submitJob: SubmitJob
  ledger: Ledger
  database: Database
  allowInsecure: boolean
}

export const submitJobRoute =
  ({ submitJob, ledger, database, allowInsecure }: SubmitJobRouteDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      ...documented,
      summary: 'Submit a job. `Prefer: wait=N` (at most 50) waits for its end. `Idempotency-Key` is taken.',
      body: NewJobBody,
      response: { 200: JobView, 202: JobBrief, ...refusals(401, 403, 409, 422) },
    }
    app.post('/v1/jobs', { schema }, async (request, reply) => {
      const answer = await submitJob(jobRequestFrom(request, allowInsecure))
      if (!answer.ok) throw answer.code === 'idempotency_conflict' ? idempotencyConflict() : poolError(answer.code)
      const { jobId } = answer
      const timeoutMs = preferredWaitMs(request)
      if (timeoutMs === 0) return sendJson(reply.code(202), { job_id: jobId, status: 'pending' })

      reply.header('preference-applied', `wait=${timeoutMs / 1000}`)
      const job = await ledger.awaitEnd(jobId, { timeoutMs, signal: waitSignal(request, reply) })
      const found = clientJob(job, accountOf(request).accountId)
      if (found === null) throw poolError('job_not_found')
      if (isEnded(job)) return sendJson(reply.code(200), await viewOf(database, found))
      return sendJson(reply.code(202), { job_id: jobId, status: await statusOf(database, found) })
    })
  }
