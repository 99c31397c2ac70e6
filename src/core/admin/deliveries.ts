// /admin/deliveries: signed requests of all doors, listed by state, each with its attempts, and dead letters replayed.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Deliveries, ListedDelivery } from '../deliveries/deliveries.ts'
import { requireRole } from '../http/auth/guard.ts'
import { refusals } from '../http/errors/detail.ts'
import { HttpError } from '../http/errors/http-error.ts'
import { SECURED } from '../http/routes/docs.ts'
import type { AdminDeps } from './admin-routes.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 200
const BODY_CHARS_SHOWN_MAX = 100_000

const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
const OrNull = Type.Union([Type.String(), Type.Null()])
const Delivery = Type.Object({
  delivery_id: Type.Integer(),
  topic: Type.String({ description: 'challenge_callback, challenge_send, pool_callback, …' }),
  subject: Type.String({ description: 'What it is about: a challenge id, a job id.' }),
  url: Type.String(),
  request_id: Type.String(),
  status: Type.String({ description: 'pending, delivered or dead.' }),
  attempts: Type.Integer({ description: 'Since the last replay.' }),
  last_error: OrNull,
  created_at: Type.String({ format: 'date-time' }),
})
const Attempt = Type.Object({
  attempt: Type.Integer(),
  url: Type.String(),
  status_code: Type.Union([Type.Integer(), Type.Null()], { description: 'Null: no answer.' }),
  error: OrNull,
  cause: Type.Union([Type.String(), Type.Null()], { description: 'Code of the system or of TLS: ECONNREFUSED, …' }),
  peer_code: Type.Union([Type.String(), Type.Null()], { description: 'Error code in the body of the answer.' }),
  duration_ms: Type.Integer(),
  created_at: Type.String({ format: 'date-time' }),
})
const Story = Type.Object({
  ...Delivery.properties,
  body: Type.String({ description: `What is sent, up to ${BODY_CHARS_SHOWN_MAX} characters.` }),
  is_body_cut: Type.Boolean(),
  log: Type.Array(Attempt, { description: 'Newest first.' }),
})
const Filter = Type.Object({
  status: Type.Optional(
    Type.Union([Type.Literal('dead'), Type.Literal('pending'), Type.Literal('delivered')], {
      description: 'Default dead.',
    }),
  ),
  topic: Type.Optional(Type.String({ maxLength: 100 })),
  before: Type.Optional(Id),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, description: `Default ${LIMIT_DEFAULT}.` })),
})
const DeliveryPath = Type.Object({ id: Id })
const ReplayMany = Type.Object(
  {
    since: Type.Optional(Type.String({ format: 'date-time', description: 'Only those queued at or after this time.' })),
    topic: Type.Optional(Type.String({ maxLength: 100 })),
  },
  { additionalProperties: false },
)
const Replayed = Type.Object({ replayed: Type.Array(Type.Integer()) })

export const deliveryRoutes =
  ({ identity, deliveries }: AdminDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.addHook('onRequest', requireRole(identity, 'ADMIN'))
    await app.register(readRoutes(deliveries))
    await app.register(replayRoutes(deliveries))
  }

const documented = { tags: ['admin'], security: SECURED }

const readRoutes =
  (deliveries: Deliveries): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/admin/deliveries',
      {
        schema: {
          ...documented,
          summary: 'Signed requests of all doors, newest first; by default the dead letters.',
          querystring: Filter,
          response: { 200: Type.Object({ deliveries: Type.Array(Delivery) }), ...refusals(401, 403, 422) },
        },
      },
      async (request) => {
        const { status = 'dead', topic, before = null, limit = LIMIT_DEFAULT } = request.query
        const topics = topicsOf(deliveries, topic)
        return { deliveries: (await deliveries.list({ topics, status, before, limit })).map(viewOf) }
      },
    )

    app.get(
      '/admin/deliveries/:id',
      {
        schema: {
          ...documented,
          summary: 'One signed request with its attempts.',
          params: DeliveryPath,
          response: { 200: Story, ...refusals(401, 403, 404, 422) },
        },
      },
      async (request) => {
        const found = await deliveries.read(deliveries.topics(), request.params.id)
        if (found === null) throw notFound()
        const log = found.log.map((attempt) => ({ ...attempt, created_at: attempt.created_at.toISOString() }))
        const { body } = found.request
        const shown = body.slice(0, BODY_CHARS_SHOWN_MAX)
        return { ...viewOf(found), body: shown, is_body_cut: shown.length < body.length, log }
      },
    )
  }

const replayRoutes =
  (deliveries: Deliveries): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/admin/deliveries/replay',
      {
        schema: {
          ...documented,
          summary: 'Send all dead letters again, or those since a time: up to 10,000, the oldest first.',
          body: ReplayMany,
          response: { 200: Replayed, ...refusals(401, 403, 422) },
        },
      },
      async (request) => {
        const { since, topic } = request.body
        const choice = since === undefined ? {} : { since: new Date(since) }
        return { replayed: await deliveries.replay(topicsOf(deliveries, topic), choice) }
      },
    )

    app.post(
      '/admin/deliveries/:id/replay',
      {
        schema: {
          ...documented,
          summary: 'Send a dead letter again, with the same body and request id.',
          params: DeliveryPath,
          response: { 200: Replayed, ...refusals(401, 403, 404, 422) },
        },
      },
      async (request) => {
        const replayed = await deliveries.replay(deliveries.topics(), { outboxId: request.params.id })
        if (replayed.length === 0) throw notFound()
        return { replayed }
      },
    )
  }

const topicsOf = (deliveries: Pick<Deliveries, 'topics'>, topic: string | undefined): string[] =>
  deliveries.topics().filter((name) => topic === undefined || name === topic)

const notFound = () => new HttpError(404, 'not_found', 'No such delivery, or it is not dead.')

const viewOf = ({ outboxId, topic, request, status, attempts, lastError, createdAt }: ListedDelivery) => ({
  delivery_id: outboxId,
  topic,
  subject: request.subject,
  url: request.url,
  request_id: request.requestId,
  status,
  attempts,
  last_error: lastError,
  created_at: createdAt.toISOString(),
})
