// POST /api/queue/join and POST /api/queue/cancel.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Database } from '../../../core/db/database.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { Failure, Success } from '../../../core/http/errors/envelope.ts'
import { accountOf, requireAccount } from '../../../core/http/auth/guard.ts'
import { idempotencyOf } from '../../../core/http/request/idempotency.ts'
import type { Identity } from '../../../core/identity/identity.ts'
import { envelope, arenaError, refusals } from '../errors.ts'
import { MODES } from '../match.ts'
import type { ArenaSettings } from '../settings.ts'
import { findJoin, type KnownJoin } from './join-keys.ts'
import type { Matchmaker } from './matchmaker.ts'
import type { Seats } from './seats.ts'

const TIMEOUT_SEC_MAX = 3600

const Join = Type.Object({
  mode: Type.Enum([...MODES]),
  code: Type.Optional(
    Type.String({
      minLength: 4,
      maxLength: 32,
      description: 'Of mode private: two who give the same code are paired.',
    }),
  ),
  timeoutSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: TIMEOUT_SEC_MAX })),
})
const Joined = Success(
  Type.Object({ queued: Type.Literal(true), mode: Type.String(), expiresAt: Type.String({ format: 'date-time' }) }),
)
const Canceled = Success(Type.Object({ canceled: Type.Literal(true) }))

export interface QueueDeps {
  database: Database
  identity: Identity
  settings: ArenaSettings
  seats: Seats
  matchmaker: Matchmaker
}

export const queueRoutes =
  (deps: QueueDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { database, identity, settings, seats, matchmaker } = deps
    const documented = { tags: ['arena'], security: SECURED }
    const onRequest = requireAccount(identity)

    app.post(
      '/api/queue/join',
      {
        onRequest,
        schema: {
          ...documented,
          summary: 'Wait for an opponent, first come first served (normal), by rating (rated) or by code (private).',
          body: Join,
          response: { 200: Joined, ...refusals, 409: Failure },
        },
      },
      async (request, reply) => {
        const { mode, code = null, timeoutSeconds = settings.MATCH_QUEUE_TIMEOUT_SECONDS } = request.body
        if ((mode === 'private') !== (code !== null)) throw arenaError('code_mismatch')
        const { accountId: userId } = accountOf(request)
        const idempotency = idempotencyOf(request, 'arena')
        const repeated = async () => (idempotency === null ? null : findJoin(database, userId, idempotency))
        const before = await repeated()
        if (before !== null) return reply.send(answerOf(before))

        const timeoutMs = timeoutSeconds * 1000
        const taken = await seats.take({ userId, mode, code, timeoutMs, idempotency })
        if (!taken.ok) {
          const meanwhile = await repeated() // the same request twice at the same time
          if (meanwhile === null) throw arenaError('queue_duplicate')
          return reply.send(answerOf(meanwhile))
        }
        if (taken.wasExpired) matchmaker.tellTimeout([userId])
        matchmaker.joined(timeoutMs)
        return reply.send(answerOf({ mode, expiresAt: taken.expiresAt }))
      },
    )

    app.post(
      '/api/queue/cancel',
      {
        onRequest,
        schema: {
          ...documented,
          summary: 'Leave the queue.',
          response: { 200: Canceled, ...refusals, 404: Failure },
        },
      },
      async (request, reply) => {
        const wasThere = await seats.giveBack(accountOf(request).accountId)
        if (!wasThere) throw arenaError('queue_not_found')
        return reply.send(envelope.success({ canceled: true }))
      },
    )
  }

const answerOf = ({ mode, expiresAt }: KnownJoin) =>
  envelope.success({ queued: true, mode, expiresAt: expiresAt.toISOString() })
