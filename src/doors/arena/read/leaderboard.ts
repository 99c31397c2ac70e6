// GET /api/leaderboard: everyone who has played, by the rating that is shown, then by user id. Any page of a million players takes a few
// milliseconds, because players are never counted one by one. Three small steps find the first entry of a page:
//
//   1. rank_places counts players per shown rating (a few thousand rows): which rating holds the first entry?
//   2. rank_blocks counts them per block of 2,048 user ids (a few hundred rows): which block?
//   3. an index-only scan on (place, user_id) from the beginning of that block, over less than a block.
//
// All three are one statement on one snapshot, so that the ranks are exact.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { batched } from '../../../core/db/batch.ts'
import type { Pool } from '../../../core/db/database.ts'
import { Failure, Success } from '../../../core/http/errors/envelope.ts'
import { shownName } from '../match.ts'
import { envelope, arenaError } from '../errors.ts'

// `place` is the shown rating, negative: ascending places are descending ratings.
const SELECT_PAGE = `
  with places as materialized (
    select place, players, sum(players) over (order by place)::bigint as up_to from rank_places
  ), place as materialized (
    select place, $1::bigint - (up_to - players) as skipped from places where up_to > $1::bigint order by place limit 1
  ), blocks as materialized (
    select b.place, b.block, b.players, place.skipped, sum(b.players) over (order by b.block)::bigint as up_to
      from place join rank_blocks b on b.place = place.place
  ), first as materialized (
    select place, block << 11 as user_id, skipped - (up_to - players) as skipped
      from blocks where up_to > skipped order by block limit 1
  )
  select p.user_id, p.place, p.wins, p.losses, p.games, a.username,
         (select coalesce(max(up_to), 0) from places)::bigint as total
    from (select 1) as always
    left join first on true
    left join lateral (
      select place, user_id from players
       where (players.place, players.user_id) >= (first.place, first.user_id)
       order by players.place, players.user_id offset first.skipped limit $2
    ) as listed on true
    left join players p on p.user_id = listed.user_id
    left join accounts a on a.account_id = listed.user_id
   order by listed.place, listed.user_id`

const SIZE_DEFAULT = 10
const SIZE_MAX = 50
const PAGES_AT_ONCE = 20 // per batch
const PAGE = /^\d{1,12}$/

const Entry = Type.Object({
  rank: Type.Integer(),
  userId: Type.Integer(),
  username: Type.String(),
  rating: Type.Integer(),
  wins: Type.Integer(),
  losses: Type.Integer(),
  matches: Type.Integer(),
})
const Page = Success(
  Type.Object({ page: Type.Integer(), size: Type.Integer(), total: Type.Integer(), entries: Type.Array(Entry) }),
)
// Every invalid value is `leaderboard_range`, so that the schema accepts anything and the handler checks it.
const Query = Type.Object({
  page: Type.Optional(Type.Unknown({ description: 'From 1. Default 1.' })),
  size: Type.Optional(Type.Unknown({ description: `1 to ${SIZE_MAX}. Default ${SIZE_DEFAULT}.` })),
})

export const leaderboardRoute =
  ({ pool }: { pool: Pool }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const read = openPages(pool)
    app.get(
      '/api/leaderboard',
      {
        schema: {
          tags: ['arena'],
          summary: 'Everyone who has played, by rating.',
          querystring: Query,
          response: { 200: Page, 400: Failure },
        },
      },
      async (request, reply) => {
        const page = numberFrom(request.query.page, 1)
        const size = numberFrom(request.query.size, SIZE_DEFAULT)
        if (page === null || size === null || page < 1 || size < 1 || size > SIZE_MAX)
          throw arenaError('leaderboard_range')
        return reply.send(envelope.success({ page, size, ...(await read({ page, size })) }))
      },
    )
  }

/** Null: not a valid page or size. */
function numberFrom(value: unknown, otherwise: number): number | null {
  if (value === undefined) return otherwise
  return typeof value === 'string' && PAGE.test(value) ? Number(value) : null
}

interface PageRow {
  /** Null: the page is beyond the last one. */
  user_id: string | null
  place: number
  wins: number
  losses: number
  games: number
  username: string
  total: string
}

interface PageRequest {
  page: number
  size: number
}

/**
 * Anyone may ask, as often as they like: at most two queries run at a time, because the ledger uses the same connections,
 * and concurrent requests for the same page share one.
 */
export function openPages(pool: Pool): (asked: PageRequest) => ReturnType<typeof readPage> {
  return batched({
    rowsMax: PAGES_AT_ONCE,
    async run(asked: PageRequest[]) {
      const pages = new Map<string, Awaited<ReturnType<typeof readPage>>>()
      const answers = []
      for (const one of asked) {
        const key = `${one.page} ${one.size}`
        const page = pages.get(key) ?? (await readPage(pool, one))
        pages.set(key, page)
        answers.push(page)
      }
      return answers
    },
  })
}

export async function readPage(pool: Pool, { page, size }: PageRequest) {
  const skipped = (page - 1) * size
  const rows = await pool.query<PageRow>(SELECT_PAGE, [skipped, size])
  const entries = rows.flatMap((row, index) => (row.user_id === null ? [] : [entryOf(row, skipped + index + 1)]))
  return { total: Number(rows[0]?.total ?? 0), entries }
}

const entryOf = (row: PageRow, rank: number) => ({
  rank,
  userId: Number(row.user_id),
  username: shownName(Number(row.user_id), row.username),
  rating: -row.place,
  wins: row.wins,
  losses: row.losses,
  matches: row.games,
})
