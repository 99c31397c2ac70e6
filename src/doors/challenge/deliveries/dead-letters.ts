// Requests that were given up: listed, and replayed one by one or all at once. For admins: they belong to no account.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Database } from '../../../core/db/database.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { requireRole } from '../../../core/http/auth/guard.ts'
import type { Identity } from '../../../core/identity/identity.ts'
import { CALLBACK_TOPIC, SEND_TOPIC } from './delivery.ts'
import { OWNER_REFUSALS, challengeError } from '../errors.ts'

const TOPICS = [CALLBACK_TOPIC, SEND_TOPIC]

const LIST = `
  select outbox_id, topic, payload ->> 'challenge_id' as challenge_id, payload ->> 'url' as url,
         payload ->> 'request_id' as request_id, status, attempts, last_error, created_at
    from outbox_events
   where topic = any($1) and status = $2 and ($3::bigint is null or outbox_id < $3)
   order by outbox_id desc limit $4`

// The same letter, with the same body and request id: whoever has it already will say that it is a duplicate.
const REPLAY = `
  update outbox_events
     set status = 'pending', attempts = 0, next_attempt_at = clock_timestamp(), last_error = null
   where outbox_id = any(array(
           select outbox_id from outbox_events
            where topic = any($1) and status = 'dead' and ($2::bigint is null or outbox_id = $2)
            order by outbox_id limit $3))
     and status = 'dead'
  returning outbox_id`

const LIMIT_DEFAULT = 50
const REPLAY_MAX = 10_000

interface LetterRow {
  outbox_id: string
  topic: string
  challenge_id: string
  url: string
  request_id: string
  status: string
  attempts: number
  last_error: string | null
  created_at: Date
}

/** Undefined: all of them. */
export async function replayDeadLetters(database: Database, letterId?: number): Promise<number[]> {
  const rows = await database.query<{ outbox_id: string }>(REPLAY, [TOPICS, letterId ?? null, REPLAY_MAX])
  return rows.map((row) => Number(row.outbox_id))
}

const Filter = Type.Object({
  status: Type.Optional(Type.Union([Type.Literal('dead'), Type.Literal('pending'), Type.Literal('delivered')])),
  before: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: `Default ${LIMIT_DEFAULT}.` })),
})
const Letters = Type.Object({ deliveries: Type.Array(Type.Unknown()) })
const Replayed = Type.Object({ replayed: Type.Array(Type.Integer()) })
const LetterPath = Type.Object({ id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) })

export interface DeadLetterDeps {
  database: Database
  identity: Identity
  wakeOutbox(): void
}

export const deadLettersRoute =
  ({ database, identity, wakeOutbox }: DeadLetterDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.addHook('onRequest', requireRole(identity, 'ADMIN'))
    const documented = { tags: ['challenge'], security: SECURED }

    app.get(
      '/challenges/deliveries',
      {
        schema: {
          ...documented,
          summary: 'Requests to the other side, by default those that were given up.',
          querystring: Filter,
          response: { 200: Letters, ...OWNER_REFUSALS },
        },
      },
      async (request) => {
        const { status = 'dead', before = null, limit = LIMIT_DEFAULT } = request.query
        const rows = await database.query<LetterRow>(LIST, [TOPICS, status, before, limit])
        return {
          deliveries: rows.map(({ outbox_id: id, ...row }) => ({ delivery_id: Number(id), ...row })),
        }
      },
    )

    const replay = async (letterId?: number) => {
      const replayed = await replayDeadLetters(database, letterId)
      if (replayed.length > 0) wakeOutbox()
      return { replayed }
    }
    app.post(
      '/challenges/deliveries/replay',
      {
        schema: { ...documented, summary: 'Replay every dead letter.', response: { 200: Replayed, ...OWNER_REFUSALS } },
      },
      () => replay(),
    )
    app.post(
      '/challenges/deliveries/:id/replay',
      {
        schema: {
          ...documented,
          summary: 'Replay one dead letter.',
          params: LetterPath,
          response: { 200: Replayed, ...OWNER_REFUSALS },
        },
      },
      async (request) => {
        const answer = await replay(request.params.id)
        if (answer.replayed.length === 0) throw challengeError('DELIVERY_NOT_FOUND')
        return answer
      },
    )
  }
