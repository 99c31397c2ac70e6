// Dead letters: listed, and replayed one by one or all at once. For admins, since they belong to no account.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Deliveries, ListedDelivery } from '../../../core/deliveries/deliveries.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { requireRole } from '../../../core/http/auth/guard.ts'
import type { Identity } from '../../../core/identity/identity.ts'
import { CALLBACK_TOPIC, SEND_TOPIC } from './topics.ts'
import { OWNER_REFUSALS, challengeError } from '../errors.ts'

const TOPICS = [CALLBACK_TOPIC, SEND_TOPIC]

const LIMIT_DEFAULT = 50

const Filter = Type.Object({
  status: Type.Optional(Type.Union([Type.Literal('dead'), Type.Literal('pending'), Type.Literal('delivered')])),
  before: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: `Default ${LIMIT_DEFAULT}.` })),
})
const DeliveryView = Type.Object({
  delivery_id: Type.Integer(),
  topic: Type.String({ description: 'challenge_callback or challenge_send.' }),
  challenge_id: Type.String(),
  url: Type.String(),
  request_id: Type.String(),
  status: Type.String({ description: 'pending, delivered or dead.' }),
  attempts: Type.Integer(),
  last_error: Type.Union([Type.String(), Type.Null()]),
  created_at: Type.Unsafe<Date>({ type: 'string', format: 'date-time' }),
})
const DeliveryPage = Type.Object({ deliveries: Type.Array(DeliveryView) })
const Replayed = Type.Object({ replayed: Type.Array(Type.Integer()) })
const DeliveryPath = Type.Object({ id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) })

export interface DeadLetterDeps {
  deliveries: Deliveries
  identity: Identity
}

export const deadLettersRoute =
  ({ deliveries, identity }: DeadLetterDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.addHook('onRequest', requireRole(identity, 'ADMIN'))
    const documented = { tags: ['challenge'], security: SECURED }

    app.get(
      '/challenges/deliveries',
      {
        schema: {
          ...documented,
          summary: 'Requests to the other side, by default dead letters.',
          querystring: Filter,
          response: { 200: DeliveryPage, ...OWNER_REFUSALS },
        },
      },
      async (request) => {
        const { status = 'dead', before = null, limit = LIMIT_DEFAULT } = request.query
        const listed = await deliveries.list({ topics: TOPICS, status, before, limit })
        return { deliveries: listed.map(viewOf) }
      },
    )

    app.post(
      '/challenges/deliveries/replay',
      {
        schema: { ...documented, summary: 'Replay every dead letter.', response: { 200: Replayed, ...OWNER_REFUSALS } },
      },
      async () => ({ replayed: await deliveries.replay(TOPICS) }),
    )
    app.post(
      '/challenges/deliveries/:id/replay',
      {
        schema: {
          ...documented,
          summary: 'Replay one dead letter.',
          params: DeliveryPath,
          response: { 200: Replayed, ...OWNER_REFUSALS },
        },
      },
      async (request) => {
        const replayed = await deliveries.replay(TOPICS, { outboxId: request.params.id })
        if (replayed.length === 0) throw challengeError('DELIVERY_NOT_FOUND')
        return { replayed }
      },
    )
  }

const viewOf = ({ outboxId, topic, request, status, attempts, lastError, createdAt }: ListedDelivery) => ({
  delivery_id: outboxId,
  topic,
  challenge_id: request.subject,
  url: request.url,
  request_id: request.requestId,
  status,
  attempts,
  last_error: lastError,
  created_at: createdAt,
})
