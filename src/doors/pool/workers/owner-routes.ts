// For owners of workers: POST /workers/register, GET /workers, PUT /workers/{id}/key, PATCH and DELETE /workers/{id}.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Database } from '../../../core/db/database.ts'
import { refusals } from '../../../core/http/errors/detail.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { assertQuota } from '../../../core/quotas/quotas.ts'
import type { CanaryStock } from '../canaries/canary-stock.ts'
import { invalidField, poolError } from '../errors.ts'
import { bodyTexts, documented, Id, JsonObject, orNull, sendJson } from '../wire.ts'
import type { WorkerStore } from './worker-store.ts'
import { findStanding, ownersView, standingOf } from './standing.ts'

const REGION_CHARS_MAX = 64
const KEY_CHARS_MAX = 1024
const SPECS_CHARS_MAX = 16 * 1024
const LEASE_SEC_MAX = 86_400
const WORKERS_LISTED_MAX = 10_000 // the highest quota

const Registration = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 120 }),
  region: Type.Optional(orNull(Type.String({ maxLength: REGION_CHARS_MAX }))),
  specs_json: Type.Optional(orNull(JsonObject)),
  public_key: Type.Optional(
    orNull(
      Type.String({
        maxLength: KEY_CHARS_MAX,
        description: 'Ed25519, base64url. It is checked when a result is submitted.',
      }),
    ),
  ),
  lease_seconds: Type.Optional(
    orNull(
      Type.Integer({
        minimum: 1,
        maximum: LEASE_SEC_MAX,
        description:
          'For work without heartbeats. In force: at most POOL_LEASE_MAX_SECONDS and the time-out of the job.',
      }),
    ),
  ),
})
const Change = Type.Object(
  {
    name: Type.Optional(Registration.properties.name),
    region: Registration.properties.region,
    specs_json: Registration.properties.specs_json,
    lease_seconds: Registration.properties.lease_seconds,
    paused: Type.Optional(Type.Boolean({ description: 'A paused worker gets no new assignment.' })),
  },
  { additionalProperties: false },
)
const WorkerPageQuery = Type.Object({
  after: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Only ids above.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: WORKERS_LISTED_MAX, description: 'Default: all.' })),
})
const Worker = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  owner_user_id: Type.Integer(),
  status: Type.String({ description: 'offline, online or banned.' }),
  region: orNull(Type.String()),
  specs_json: orNull(JsonObject),
  public_key: orNull(Type.String()),
  last_seen_at: orNull(Type.String()),
  lease_seconds: Type.Optional(Type.Integer()),
  paused: Type.Optional(Type.Boolean()),
})
const WorkerPath = Type.Object({ id: Id })

export const ownerRoutes =
  (workers: WorkerStore): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/workers/register',
      {
        config: { passesJsonOn: true },
        schema: {
          ...documented,
          summary: 'Register a worker of mine.',
          body: Registration,
          response: { 201: Worker, ...refusals(401, 403, 409, 422, 429) },
        },
      },
      async (request, reply) => {
        const { name, region = null, public_key: publicKey = null, lease_seconds: leaseSec = null } = request.body
        const specs = (await specsIn(request)) ?? null
        const { accountId: ownerId } = accountOf(request)
        const answer = await workers.register({ name, ownerId, region, specs, publicKey, leaseSec })
        if (!answer.ok && answer.code === 'quota_exceeded') assertQuota(answer)
        if (!answer.ok) throw poolError('worker_name_taken')
        return sendJson(reply.code(201), answer.worker)
      },
    )

    app.get(
      '/workers',
      {
        schema: {
          ...documented,
          summary: 'List my workers.',
          querystring: WorkerPageQuery,
          response: { 200: Type.Object({ workers: Type.Array(Worker) }), ...refusals(401, 403, 422) },
        },
      },
      async (request, reply) => {
        const { after = 0, limit = WORKERS_LISTED_MAX } = request.query
        return sendJson(reply, { workers: await workers.list(accountOf(request).accountId, { after, limit }) })
      },
    )

    app.put(
      '/workers/:id/key',
      {
        schema: {
          ...documented,
          summary: 'Set or replace the public key of a worker of mine.',
          params: WorkerPath,
          body: Type.Object({ public_key: Type.String({ maxLength: KEY_CHARS_MAX }) }),
          response: { 200: Worker, ...refusals(401, 403, 404, 422) },
        },
      },
      async (request, reply) => {
        const { accountId } = accountOf(request)
        const worker = await workers.setKey(request.params.id, accountId, request.body.public_key)
        if (worker === null) throw poolError('worker_not_found')
        return sendJson(reply, worker)
      },
    )
    await app.register(changeRoutes(workers))
  }

const changeRoutes =
  (workers: WorkerStore): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.patch(
      '/workers/:id',
      {
        config: { passesJsonOn: true },
        schema: {
          ...documented,
          summary: 'Rename, edit, pause or resume a worker of mine.',
          params: WorkerPath,
          body: Change,
          response: { 200: Worker, ...refusals(401, 403, 404, 409, 422) },
        },
      },
      async (request, reply) => {
        const { name, region, lease_seconds: leaseSec, paused } = request.body
        const change = { name, region, specs: await specsIn(request), leaseSec, paused }
        const answer = await workers.update(request.params.id, accountOf(request).accountId, change)
        if (!answer.ok) throw poolError(answer.code)
        return sendJson(reply, answer.worker)
      },
    )

    app.delete(
      '/workers/:id',
      {
        schema: {
          ...documented,
          summary: 'Remove a worker of mine. Its assignment goes to another; its results and receipts stay.',
          params: WorkerPath,
          response: { 204: Type.Null(), ...refusals(401, 403, 404) },
        },
      },
      async (request, reply) => {
        const isRemoved = await workers.remove(request.params.id, accountOf(request).accountId)
        if (!isRemoved) throw poolError('worker_not_found')
        return reply.code(204).send(null)
      },
    )
  }

/** The text of `specs_json` as it was sent. Undefined: not given. */
async function specsIn(
  request: FastifyRequest<{ Body: { specs_json?: object | null } }>,
): Promise<string | null | undefined> {
  const { specs_json: specs } = request.body
  if (specs === undefined || specs === null) return specs
  const text = (await bodyTexts(request)).get('specs_json') ?? null
  if (text !== null && text.length > SPECS_CHARS_MAX) {
    throw invalidField(['specs_json'], `must have at most ${SPECS_CHARS_MAX} characters`)
  }
  return text
}

const Reputation = Type.Object({
  worker_id: Type.Integer(),
  standing: Type.String({ description: 'probation, trusted or banned.' }),
  reputation: Type.Number({ description: 'From 0 to 1, to a tenth.' }),
  completed: Type.Integer(),
  failed: Type.Integer(),
  lost: Type.Integer({ description: 'Leases that it let expire.' }),
  banned_at: orNull(Type.String()),
  ban_reason: orNull(Type.String()),
})

export interface ReputationDeps {
  database: Database
  canaries: CanaryStock
  probationCanaries: number
}

export const reputationRoute =
  ({ database, canaries, probationCanaries }: ReputationDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/workers/:id/reputation',
      {
        schema: {
          ...documented,
          summary: 'The standing of a worker of mine.',
          params: WorkerPath,
          response: { 200: Reputation, ...refusals(401, 403, 404) },
        },
      },
      async (request) => {
        await canaries.ready()
        const row = await findStanding(database, request.params.id, accountOf(request).accountId)
        if (row === null) throw poolError('worker_not_found')
        return ownersView(row, standingOf(row, canaries, probationCanaries))
      },
    )
  }
