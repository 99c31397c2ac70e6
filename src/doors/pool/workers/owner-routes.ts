// For owners of workers: POST /workers/register, GET /workers, PUT /workers/{id}/key, GET /workers/{id}/reputation.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { memberTexts } from '@reeve/sdk'
import { Type } from 'typebox'
import type { Database } from '../../../core/db/database.ts'
import { refusals } from '../../../core/http/errors/detail.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import type { CanaryStock } from '../canaries/canary-stock.ts'
import { poolError } from '../errors.ts'
import { documented, Id, JsonObject, orNull, sendJson } from '../wire.ts'
import type { WorkerStore } from './worker-store.ts'
import { findStanding, ownersView, standingOf } from './standing.ts'

const REGION_CHARS_MAX = 64

const Registration = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 120 }),
  region: Type.Optional(orNull(Type.String({ maxLength: REGION_CHARS_MAX }))),
  specs_json: Type.Optional(orNull(JsonObject)),
  public_key: Type.Optional(
    orNull(Type.String({ description: 'Ed25519, base64url. Judged when something is submitted.' })),
  ),
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
})
const WorkerPath = Type.Object({ id: Id })

export const ownerRoutes =
  (workers: WorkerStore): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/workers/register',
      {
        schema: {
          ...documented,
          summary: 'Register a worker of mine.',
          body: Registration,
          response: { 201: Worker, ...refusals(401, 403, 409, 422) },
        },
      },
      async (request, reply) => {
        const { name, region = null, specs_json: specs = null, public_key: publicKey = null } = request.body
        const text = specs === null ? null : (memberTexts(String(request.rawBody)).get('specs_json') ?? null)
        const { accountId: ownerId } = accountOf(request)
        const answer = await workers.register({ name, ownerId, region, specs: text, publicKey })
        if (!answer.ok) throw poolError(answer.code)
        return sendJson(reply.code(201), answer.worker)
      },
    )

    app.get(
      '/workers',
      {
        schema: {
          ...documented,
          summary: 'List my workers.',
          response: { 200: Type.Object({ workers: Type.Array(Worker) }), ...refusals(401, 403) },
        },
      },
      async (request, reply) => sendJson(reply, { workers: await workers.list(accountOf(request).accountId) }),
    )

    app.put(
      '/workers/:id/key',
      {
        schema: {
          ...documented,
          summary: 'Set or replace the public key of a worker of mine.',
          params: WorkerPath,
          body: Type.Object({ public_key: Type.String() }),
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
