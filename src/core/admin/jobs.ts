// /admin/jobs: all jobs of all doors.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../http/errors/detail.ts'
import { SECURED } from '../http/routes/docs.ts'
import { ownerIdOf, requireRole } from '../http/auth/guard.ts'
import { idempotencyConflict, idempotencyOf } from '../http/request/idempotency.ts'
import { preferredWaitMs, waitSignal } from '../http/request/prefer.ts'
import { HttpError } from '../http/errors/http-error.ts'
import { cancelJob, replayJob, type Kinds } from '../executor/endings.ts'
import type { AdminDeps } from './admin-routes.ts'
import { bulkRoute } from './bulk-jobs.ts'
import { jobContextRoute } from './job-context.ts'
import { detailOf, jobIdOf, JobDetail, JobPath, JobState, unknownJob } from './job-schema.ts'
import { searchRoutes } from './search-jobs.ts'

const YEAR_MS = 366 * 86_400_000

const NewJob = Type.Object(
  {
    kind: Type.String({ minLength: 1, maxLength: 100 }),
    payload: Type.Unknown(),
    priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 9, description: 'Higher is sooner. Default 5.' })),
    delay_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: YEAR_MS })),
    max_attempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  },
  { additionalProperties: false },
)
const Accepted = Type.Object({ job_id: Type.String(), state: JobState })
const Cancel = Type.Optional(Type.Object({ reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })) }))

export const jobRoutes =
  (deps: AdminDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.addHook('onRequest', requireRole(deps.identity, 'ADMIN'))
    await app.register(searchRoutes(deps))
    await app.register(readRoutes(deps))
    await app.register(jobContextRoute(deps))
    await app.register(bulkRoute(deps))
    await app.register(submitRoute(deps))
    await app.register(endRoutes(deps))
  }

const secured = { tags: ['admin'], security: SECURED }

const readRoutes =
  ({ ledger }: AdminDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const summary = 'One job with its history. `Prefer: wait=N` (at most 50) waits for its end.'
    app.get(
      '/admin/jobs/:id',
      { schema: { ...secured, summary, params: JobPath, response: { 200: JobDetail, ...refusals(401, 403, 404) } } },
      async (request, reply) => {
        const jobId = jobIdOf(request.params.id)
        const timeoutMs = preferredWaitMs(request)
        if (timeoutMs > 0) reply.header('preference-applied', `wait=${timeoutMs / 1000}`)
        const job =
          timeoutMs === 0
            ? await ledger.get(jobId)
            : await ledger.awaitEnd(jobId, { timeoutMs, signal: waitSignal(request, reply) })
        if (job === null) throw unknownJob()
        return detailOf(job, await ledger.history(job))
      },
    )
  }

const submitRoute =
  ({ ledger, kinds }: AdminDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const summary = 'Submit a job. `Idempotency-Key`: the same key and body name the same job.'
    app.post(
      '/admin/jobs',
      { schema: { ...secured, summary, body: NewJob, response: { 202: Accepted, ...refusals(400, 401, 403, 422) } } },
      async (request, reply) => {
        const { kind, payload, priority, delay_ms: delayMs, max_attempts: maxAttempts } = request.body
        if (kinds.get(kind) === undefined) throw unknownKind(kinds)
        const answer = await ledger.submit({
          kind,
          payload,
          accountId: ownerIdOf(request),
          trace: request.trace,
          idempotency: idempotencyOf(request, 'admin'),
          ...(priority === undefined ? {} : { priority }),
          ...(delayMs === undefined ? {} : { delayMs }),
          ...(maxAttempts === undefined ? {} : { maxAttempts }),
        })
        if (!answer.ok) throw idempotencyConflict()
        return reply.code(202).send({ job_id: answer.jobId, state: 'pending' })
      },
    )
  }

const endRoutes =
  ({ ledger, kinds }: AdminDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const refused = refusals(401, 403, 404, 409, 422)

    app.post(
      '/admin/jobs/:id/cancel',
      {
        schema: {
          ...secured,
          summary: 'End a job that has not ended.',
          params: JobPath,
          body: Cancel,
          response: { 200: Accepted, ...refused },
        },
      },
      async (request) => {
        const jobId = jobIdOf(request.params.id)
        const answer = await cancelJob(ledger, kinds, jobId, request.body?.reason ?? 'cancelled by an admin')
        if (answer.ok) return { job_id: jobId, state: 'dead' as const }
        if (answer.code === 'unknown_job') throw unknownJob()
        throw new HttpError(409, 'conflict', 'The job has already ended')
      },
    )

    const summary = 'Submit a dead job again, as a new one that names it. Asking twice names the same new job.'
    app.post(
      '/admin/jobs/:id/replay',
      { schema: { ...secured, summary, params: JobPath, response: { 202: Accepted, ...refused } } },
      async (request, reply) => {
        const answer = await replayJob(ledger, kinds, jobIdOf(request.params.id))
        if (answer.ok) return reply.code(202).send({ job_id: answer.jobId, state: 'pending' })
        if (answer.code === 'unknown_job') throw unknownJob()
        const message = 'message' in answer ? answer.message : 'Only a dead job can be replayed'
        throw new HttpError(409, 'conflict', message)
      },
    )
  }

function unknownKind(kinds: Kinds): HttpError {
  const message = `must be one of ${kinds
    .all()
    .map(({ name }) => name)
    .join(', ')}`
  const fields = [{ path: ['body', 'kind'], message, rule: 'enum' }]
  return new HttpError(422, 'validation_failed', `body.kind ${message}.`, { fields })
}
