// GET /api/profile, and GET /api/profile/ratings: what each match did to a rating, newest first.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Pool } from '../../../core/db/database.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { Failure, Success } from '../../../core/http/errors/envelope.ts'
import { accountOf, requireAccount } from '../../../core/http/auth/guard.ts'
import type { Identity } from '../../../core/identity/identity.ts'
import { arenaError, envelope, refusals } from '../errors.ts'
import { shownName } from '../match.ts'

const SELECT_PLAYER = `select round(rating)::integer as rating, wins, losses, games from players where user_id = $1`

// The rank is counted as the leaderboard counts it: by shown ratings, then blocks, then less than a block of players.
const SELECT_PUBLIC = `
  select a.username, round(p.rating)::integer as rating, p.wins, p.losses, p.games,
         case when p.place is not null then 1
           + (select coalesce(sum(r.players), 0) from rank_places r where r.place < p.place)
           + (select coalesce(sum(b.players), 0) from rank_blocks b where b.place = p.place and b.block < p.user_id >> 11)
           + (select count(*) from players o
               where o.place = p.place and o.user_id >= (p.user_id >> 11) << 11 and o.user_id < p.user_id)
         end::bigint as rank
    from accounts a left join players p on p.user_id = a.account_id
   where a.account_id = $1 and a.is_active`

const SELECT_RATINGS = `
  select match_id, game, opponent_id, score, rating_before, rating_after, rd_after, applied_at from rating_applies
   where user_id = $1 and game < $2 order by game desc limit $3`

/** An account that has not joined the queue yet. */
const NEWCOMER = { rating: 1500, wins: 0, losses: 0, games: 0 }

const SIZE_DEFAULT = 50
const GAME_MAX = 2_147_483_647

const PROFILE = {
  userId: Type.Integer(),
  username: Type.String(),
  rating: Type.Integer(),
  wins: Type.Integer(),
  losses: Type.Integer(),
  matches: Type.Integer(),
}
const Profile = Success(Type.Object(PROFILE))
const PublicProfile = Success(
  Type.Object({
    ...PROFILE,
    rank: Type.Union([Type.Integer(), Type.Null()], { description: 'Null: no rated match yet.' }),
  }),
)
const PlayerPath = Type.Object({ id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) })
const Applied = Type.Object({
  game: Type.Integer({ description: 'Number of the rated game, from 1.' }),
  matchId: Type.String(),
  opponentUserId: Type.Integer(),
  score: Type.Number({ description: '1 won, 0.5 draw, 0 lost.' }),
  ratingBefore: Type.Number(),
  ratingAfter: Type.Number(),
  deviationAfter: Type.Number(),
  at: Type.String({ format: 'date-time' }),
})
const Ratings = Success(
  Type.Object({
    userId: Type.Integer(),
    ratings: Type.Array(Applied),
    nextBefore: Type.Union([Type.Integer(), Type.Null()], {
      description: '`before` of the next page; null: the last.',
    }),
  }),
)
const RatingsQuery = Type.Object({
  userId: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'Default: you.' })),
  before: Type.Optional(Type.Integer({ minimum: 1, maximum: GAME_MAX })),
  size: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: `Default ${SIZE_DEFAULT}.` })),
})

export const profileRoutes =
  ({ pool, identity }: { pool: Pool; identity: Identity }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const onRequest = requireAccount(identity)
    const documented = { tags: ['arena'], security: SECURED }

    app.get(
      '/api/profile',
      {
        onRequest,
        schema: { ...documented, summary: 'Your rating and record.', response: { 200: Profile, ...refusals } },
      },
      async (request, reply) => {
        const { accountId: userId, username } = accountOf(request)
        type PlayerRow = { rating: number; wins: number; losses: number; games: number }
        const [row] = await pool.query<PlayerRow>(SELECT_PLAYER, [userId])
        const { rating, wins, losses, games: matches } = row ?? NEWCOMER
        return reply.send(envelope.success({ userId, username, rating, wins, losses, matches }))
      },
    )

    app.get(
      '/api/players/:id',
      {
        onRequest,
        schema: {
          ...documented,
          summary: 'The public profile of a player, with the rank.',
          params: PlayerPath,
          response: { 200: PublicProfile, ...refusals, 404: Failure },
        },
      },
      async (request, reply) => {
        const { id: userId } = request.params
        const [row] = await pool.query<PublicRow>(SELECT_PUBLIC, [userId])
        if (row === undefined) throw arenaError('player_not_found')
        const { rating, wins, losses, games: matches } = row.rating === null ? NEWCOMER : row
        const rank = row.rank === null ? null : Number(row.rank)
        const username = shownName(userId, row.username)
        return reply.send(envelope.success({ userId, username, rating, wins, losses, matches, rank }))
      },
    )

    app.get(
      '/api/profile/ratings',
      {
        onRequest,
        schema: {
          ...documented,
          summary: 'What each match did to a rating, newest first.',
          querystring: RatingsQuery,
          response: { 200: Ratings, ...refusals },
        },
      },
      async (request, reply) => {
        const { userId = accountOf(request).accountId, before = GAME_MAX, size = SIZE_DEFAULT } = request.query
        const rows = await pool.query<AppliedRow>(SELECT_RATINGS, [userId, before, size + 1])
        const page = rows.slice(0, size)
        const nextBefore = rows.length > size ? (page.at(-1)?.game ?? null) : null
        return reply.send(envelope.success({ userId, ratings: page.map(appliedOf), nextBefore }))
      },
    )
  }

type PublicRow = { username: string; rank: string | null } & (
  | { rating: number; wins: number; losses: number; games: number }
  | { rating: null }
)

interface AppliedRow {
  match_id: string
  game: number
  opponent_id: string
  score: number
  rating_before: number
  rating_after: number
  rd_after: number
  applied_at: Date
}

const appliedOf = (row: AppliedRow) => ({
  game: row.game,
  matchId: row.match_id,
  opponentUserId: Number(row.opponent_id),
  score: row.score,
  ratingBefore: row.rating_before,
  ratingAfter: row.rating_after,
  deviationAfter: row.rd_after,
  at: row.applied_at.toISOString(),
})
