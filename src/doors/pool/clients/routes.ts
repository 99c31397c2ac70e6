// Client API: POST /v1/jobs, GET /v1/jobs/{id}, POST /v1/jobs/{id}/cancel, GET /v1/jobs/{id}/why, and the callback secret.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { memberTexts } from '@reeve/sdk'
import type { FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import type { Deps } from '../../../core/door.ts'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf, requireRole } from '../../../core/http/auth/guard.ts'
import { idempotencyConflict, idempotencyOf } from '../../../core/http/request/idempotency.ts'
import { preferredWaitMs, waitSignal } from '../../../core/http/request/prefer.ts'
import { isEnded } from '../../../core/ledger/ended.ts'
import { parseJobId } from '../../../core/ledger/job.ts'
import { PRIORITY_DEFAULT } from '../../../core/ledger/submit/submit.ts'
import { isCallableUrl } from '../../../core/outbound/callback-url.ts'
import type { Coordinator } from '../pool.ts'
import { invalidField, problem } from '../errors.ts'
import { clientJob, findClientJob, statusOf, viewOf, type ClientJob } from './job-view.ts'
import { CANCELLED } from '../tasks/kinds.ts'
import { sendJson } from '../raw.ts'
import { JsonObject, orNull } from '../schemas.ts'
import type { NewPoolJob } from './submit-job.ts'
import { explain, Why } from './why.ts'

const PRIORITY_MAX = 1_000_000
const REPLICAS_MAX = 25
const TIMEOUT_SEC_MAX = 31_536_000
const SPECS_CHARS_MAX = 4096

const Requirements = Type.Object(
  {
    region: Type.Optional(orNull(Type.String({ minLength: 1, maxLength: 64 }))),
    specs: Type.Optional(orNull(JsonObject)),
  },
  { additionalProperties: false },
)
const NewJob = Type.Object(
  {
    payload: JsonObject,
    priority: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: PRIORITY_MAX,
        description: `Higher is sooner. Default ${PRIORITY_DEFAULT}.`,
      }),
    ),
    requirements: Type.Optional(orNull(Requirements)),
    replicas: Type.Optional(Type.Integer({ minimum: 1, maximum: REPLICAS_MAX, description: 'Default 1.' })),
    quorum: Type.Optional(
      Type.Integer({ minimum: 1, maximum: REPLICAS_MAX, description: 'Default: more than half of the replicas.' }),
    ),
    callback_url: Type.Optional(orNull(Type.String({ maxLength: 4096 }))),
    timeout_seconds: Type.Optional(orNull(Type.Integer({ minimum: 1, maximum: TIMEOUT_SEC_MAX }))),
    require_output_hash: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)
const Brief = Type.Object({ job_id: Type.String(), status: Type.String() })
const JobView = Type.Object({ job_id: Type.String(), status: Type.String() }, { additionalProperties: true })
const JobPath = Type.Object({ id: Type.String({ maxLength: 512 }) })
const Secret = Type.Object({ key_id: Type.String(), secret: Type.String() })

export interface ClientDeps extends Deps {
  coordinator: Coordinator
  allowInsecure: boolean
}

export const clientRoutes =
  (deps: ClientDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.addHook('onRequest', requireRole(deps.identity, 'CLIENT'))
    await app.register(submitRoute(deps))
    await app.register(jobRoutes(deps))
  }

const documented = { tags: ['pool'], security: SECURED }

const submitRoute =
  (deps: ClientDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { coordinator, ledger, database } = deps
    const summary = 'Submit a job. `Prefer: wait=N` (at most 50) waits for its end. `Idempotency-Key` is taken.'
    app.post(
      '/v1/jobs',
      {
        schema: {
          ...documented,
          summary,
          body: NewJob,
          response: { 200: JobView, 202: Brief, ...refusals(401, 403, 409, 422) },
        },
      },
      async (request, reply) => {
        const answer = await coordinator.submitJob(newJobOf(request, deps.allowInsecure))
        if (!answer.ok) throw answer.code === 'idempotency_conflict' ? idempotencyConflict() : problem(answer.code)
        const { jobId } = answer
        const timeoutMs = preferredWaitMs(request)
        if (timeoutMs === 0) return sendJson(reply.code(202), { job_id: jobId, status: 'pending' })

        reply.header('preference-applied', `wait=${timeoutMs / 1000}`)
        const job = await ledger.awaitEnd(jobId, { timeoutMs, signal: waitSignal(request, reply) })
        const found = clientJob(job, accountOf(request).accountId)
        if (found === null) throw problem('job_not_found')
        if (isEnded(job)) return sendJson(reply.code(200), await viewOf(database, found))
        return sendJson(reply.code(202), { job_id: jobId, status: await statusOf(database, found) })
      },
    )
  }

const jobRoutes =
  ({ coordinator, ledger, database }: ClientDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const own = async (request: FastifyRequest<{ Params: { id: string } }>): Promise<ClientJob> => {
      const found = await findClientJob(ledger, parseJobId(request.params.id), accountOf(request).accountId)
      if (found === null) throw problem('job_not_found')
      return found
    }
    const refused = refusals(401, 403, 404)

    const summary = 'One job of mine with its result. `Prefer: wait=N` (at most 50) waits for its end.'
    app.get(
      '/v1/jobs/:id',
      { schema: { ...documented, summary, params: JobPath, response: { 200: JobView, ...refused } } },
      async (request, reply) => {
        const found = await own(request)
        const timeoutMs = preferredWaitMs(request)
        if (timeoutMs === 0) return sendJson(reply, await viewOf(database, found))
        reply.header('preference-applied', `wait=${timeoutMs / 1000}`)
        const job = await ledger.awaitEnd(found.job.jobId, { timeoutMs, signal: waitSignal(request, reply) })
        return sendJson(reply, await viewOf(database, { ...found, job: job ?? found.job }))
      },
    )

    app.post(
      '/v1/jobs/:id/cancel',
      {
        schema: {
          ...documented,
          summary: 'End a job of mine that has not ended.',
          params: JobPath,
          response: { 200: Brief, ...refused, ...refusals(409) },
        },
      },
      async (request) => {
        const { job } = await own(request)
        const answer = await coordinator.cancel(job.jobId, CANCELLED)
        if (!answer.ok) throw problem(answer.code === 'unknown_job' ? 'job_not_found' : 'job_ended')
        return { job_id: job.jobId, status: 'cancelled' }
      },
    )

    app.get(
      '/v1/jobs/:id/why',
      {
        schema: {
          ...documented,
          summary: 'What keeps a job of mine waiting.',
          params: JobPath,
          response: { 200: Why, ...refused },
        },
      },
      async (request) => explain({ database, coordinator }, await own(request)),
    )

    app.get(
      '/v1/callbacks/secret',
      {
        schema: {
          ...documented,
          summary: 'What callbacks to me are signed with.',
          response: { 200: Secret, ...refusals(401, 403) },
        },
      },
      async (request, reply) => {
        const { keyId, secret } = coordinator.callbacks.keyOf(accountOf(request).accountId)
        reply.header('cache-control', 'no-store')
        return { key_id: keyId, secret }
      },
    )
  }

function newJobOf(request: FastifyRequest<{ Body: Static<typeof NewJob> }>, allowInsecure: boolean): NewPoolJob {
  const { body } = request
  const { callback_url: url = null, requirements } = body
  if (url !== null && !isCallableUrl(url, allowInsecure)) {
    throw invalidField(['callback_url'], 'must be an https URL of at most 2048 characters with no credentials')
  }
  const specs = requirements?.specs ?? null
  if (specs !== null && JSON.stringify(specs).length > SPECS_CHARS_MAX) {
    throw invalidField(['requirements', 'specs'], `must have at most ${SPECS_CHARS_MAX} characters`)
  }
  const replicas = body.replicas ?? body.quorum ?? 1
  const quorum = body.quorum ?? Math.floor(replicas / 2) + 1
  if (quorum > replicas) throw invalidField(['quorum'], 'must be at most replicas')
  return {
    clientId: accountOf(request).accountId,
    job: memberTexts(String(request.rawBody)).get('payload') ?? 'null',
    priority: body.priority ?? PRIORITY_DEFAULT,
    requirements: { region: requirements?.region ?? null, specs },
    replicas,
    quorum,
    callbackUrl: url,
    requiresHash: body.require_output_hash ?? false,
    timeoutSec: body.timeout_seconds ?? null,
    idempotency: idempotencyOf(request, 'pool'),
    traceId: request.traceId,
  }
}
