// What must hold of the arena's matches whatever was killed while they ran: each ended once, and moved ratings once or not at all.
import assert from 'node:assert/strict'
import type { Database } from '../../src/core/db/database.ts'
import { ratingAfter, type Score } from '../../src/doors/arena/matches/rating.ts'

export async function verifyMatches(database: Database): Promise<void> {
  const [wrong] = await database.query(`
    select (select count(*)::integer from jobs where kind = 'match' and state <> 'done') as unended,
           (select count(*)::integer from jobs j where kind = 'match' and not exists
             (select from match_results r where r.match_id = j.job_id)) as without_result,
           (select count(*)::integer from match_results r where not exists (select from jobs j where j.job_id = r.match_id)) as without_job,
           (select count(*)::integer from match_results r
             where (select count(*) from rating_applies a where a.match_id = r.match_id)
                <> case r.reason when 'completed' then 2 else 0 end) as wrongly_applied,
           (select count(*)::integer from players p where games <> (select count(*) from rating_applies a where a.user_id = p.user_id)) as wrong_games,
           (select count(*)::integer from players p where wins <> (select count(*) from match_results r where r.winner_user_id = p.user_id)) as wrong_wins,
           (select count(*)::integer from rank_blocks b full join
             (select place, user_id >> 11 as block, count(*) as n from players group by 1, 2) as p using (place, block)
             where coalesce(b.players, 0) <> coalesce(p.n, 0)) as wrong_counts`)
  assert.deepEqual(wrong, {
    unended: 0,
    without_result: 0,
    without_job: 0,
    wrongly_applied: 0,
    wrong_games: 0,
    wrong_wins: 0,
    wrong_counts: 0,
  })
  await verifyRatings(database)
}

interface AppliedRow {
  match_id: string
  user_id: string
  game: number
  score: Score
  rating_before: number
  rating_after: number
  rd_before: number
  rd_after: number
  volatility_before: number
  volatility_after: number
}

/** Each player's chain has no gap and no fork, each link follows from both ratings before it, and its end is the rating. */
async function verifyRatings(database: Database): Promise<void> {
  const rows = await database.query<AppliedRow>('select * from rating_applies order by user_id, game')
  const byMatch = new Map<string, AppliedRow[]>()
  for (const row of rows) byMatch.set(row.match_id, [...(byMatch.get(row.match_id) ?? []), row])
  const last = new Map<string, AppliedRow>()
  for (const row of rows) {
    const before = last.get(row.user_id)
    assert.equal(row.game, (before?.game ?? 0) + 1)
    assert.equal(row.rating_before, before?.rating_after ?? 1500)
    const opponent = byMatch.get(row.match_id)?.find((other) => other.user_id !== row.user_id)
    assert(opponent !== undefined)
    const rating = (of: AppliedRow) => ({
      rating: of.rating_before,
      rd: of.rd_before,
      volatility: of.volatility_before,
      games: of.game - 1,
    })
    const after = ratingAfter(rating(row), rating(opponent), row.score)
    assert.deepEqual([row.rating_after, row.rd_after, row.volatility_after], [after.rating, after.rd, after.volatility])
    last.set(row.user_id, row)
  }
  for (const { user_id: userId, rating } of await database.query<{ user_id: string; rating: number }>(
    'select user_id, rating from players',
  )) {
    assert.equal(rating, last.get(userId)?.rating_after ?? 1500)
  }
}
