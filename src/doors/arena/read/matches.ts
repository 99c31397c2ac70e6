// GET /api/matches (of one player, newest first), /api/matches/live (to watch), /api/matches/{id} (with its record).
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { REPLAY_FORMAT } from '@reeve/sdk/arena-replay'
import { Type } from 'typebox'
import type { Pool } from '../../../core/db/database.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { Failure } from '../../../core/http/errors/envelope.ts'
import { accountOf, requireAccount } from '../../../core/http/auth/guard.ts'
import type { Identity } from '../../../core/identity/identity.ts'
import { parseJobId } from '../../../core/ledger/job.ts'
import { envelope, arenaError, refusals } from '../errors.ts'
import { shownName } from '../match.ts'
import { Live, MatchPage, MatchView } from './match-schema.ts'
import { runningMatches } from './running-matches.ts'

const COLUMNS = `r.match_id, r.mode, r.reason, r.winner_user_id, r.ticks, r.tick_interval_ms, r.created_at, r.finished_at,
  r.user_a, a.username as username_a, r.position_a, ra.rating_before as before_a, ra.rating_after as after_a,
  r.user_b, b.username as username_b, r.position_b, rb.rating_before as before_b, rb.rating_after as after_b`
const JOINS = `
  left join accounts a on a.account_id = r.user_a
  left join accounts b on b.account_id = r.user_b
  left join rating_applies ra on ra.match_id = r.match_id and ra.user_id = r.user_a
  left join rating_applies rb on rb.match_id = r.match_id and rb.user_id = r.user_b`

const SELECT_ONE = `
  select ${COLUMNS}, encode(r.inputs, 'base64') as inputs from match_results r ${JOINS} where r.match_id = $1`

// One index per side of a match, each scanned from its newest end.
const SELECT_OF_PLAYER = `
  select ${COLUMNS} from (
    select * from (select * from match_results where user_a = $1 and match_id < $2 order by match_id desc limit $3) as first
     union all
    select * from (select * from match_results where user_b = $1 and match_id < $2 order by match_id desc limit $3) as second
  ) as r ${JOINS}
   order by r.match_id desc limit $3`

const SIZE_DEFAULT = 20
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const Filter = Type.Object({
  userId: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Default: you.' })),
  before: Type.Optional(Type.String({ pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' })),
  size: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: `Default ${SIZE_DEFAULT}.` })),
})
const MatchPath = Type.Object({ id: Type.String({ maxLength: 512 }) })

export interface MatchesDeps {
  pool: Pool
  identity: Identity
}

export const matchesRoutes =
  ({ pool, identity }: MatchesDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const onRequest = requireAccount(identity)
    const documented = { tags: ['arena'], security: SECURED }

    app.get(
      '/api/matches',
      {
        onRequest,
        schema: {
          ...documented,
          summary: 'The matches of a player, newest first.',
          querystring: Filter,
          response: { 200: MatchPage, ...refusals },
        },
      },
      async (request, reply) => {
        const { userId = accountOf(request).accountId, before = LAST_ID, size = SIZE_DEFAULT } = request.query
        const rows = await pool.query<MatchResultRow>(SELECT_OF_PLAYER, [userId, before, size + 1])
        const page = rows.slice(0, size)
        const nextBefore = rows.length > size ? (page.at(-1)?.match_id ?? null) : null
        return reply.send(envelope.success({ userId, matches: page.map(matchOf), nextBefore }))
      },
    )

    app.get(
      '/api/matches/live',
      {
        onRequest,
        schema: { ...documented, summary: 'Running matches, newest first.', response: { 200: Live, ...refusals } },
      },
      async (_request, reply) => {
        return reply.send(envelope.success({ matches: await runningMatches(pool) }))
      },
    )

    app.get(
      '/api/matches/:id',
      {
        onRequest,
        schema: {
          ...documented,
          summary: 'A finished match, with the inputs to replay it.',
          params: MatchPath,
          response: { 200: MatchView, ...refusals, 404: Failure },
        },
      },
      async (request, reply) => {
        const matchId = parseJobId(request.params.id)
        const [row] =
          matchId === null ? [] : await pool.query<MatchResultRow & { inputs: string }>(SELECT_ONE, [matchId])
        if (row === undefined) throw arenaError('match_not_found')
        const inputs = row.inputs.replaceAll('\n', '') // PostgreSQL inserts line breaks
        const replay = { format: REPLAY_FORMAT, inputs, kept: inputs !== '' || !hasMoved(row) }
        return reply.send(envelope.success({ ...matchOf(row), replay }))
      },
    )
  }

/** Positions follow from the inputs. */
const hasMoved = ({ position_a: a, position_b: b }: MatchResultRow): boolean => (a ?? 0) !== 0 || (b ?? 0) !== 0

interface MatchResultRow {
  match_id: string
  mode: string
  reason: 'completed' | 'resigned' | 'void'
  winner_user_id: string | null
  ticks: number
  tick_interval_ms: number
  created_at: Date
  finished_at: Date
  user_a: string
  username_a: string | null
  position_a: number | null
  before_a: number | null
  after_a: number | null
  user_b: string
  username_b: string | null
  position_b: number | null
  before_b: number | null
  after_b: number | null
}

const matchOf = (row: MatchResultRow) => ({
  matchId: row.match_id,
  mode: row.mode,
  reason: row.reason,
  result:
    row.reason === 'void'
      ? null
      : { winnerUserId: row.winner_user_id === null ? null : Number(row.winner_user_id), ticks: row.ticks },
  ticks: row.ticks,
  tickIntervalMs: row.tick_interval_ms,
  players: [
    playerOf(row.user_a, row.username_a, row.position_a, row.before_a, row.after_a),
    playerOf(row.user_b, row.username_b, row.position_b, row.before_b, row.after_b),
  ],
  createdAt: row.created_at.toISOString(),
  finishedAt: row.finished_at.toISOString(),
})

const playerOf = (
  userId: string,
  username: string | null,
  position: number | null,
  ratingBefore: number | null,
  ratingAfter: number | null,
) => ({
  userId: Number(userId),
  username: shownName(Number(userId), username),
  position,
  ratingBefore,
  ratingAfter,
})
