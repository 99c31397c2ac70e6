// What is deleted of old matches: the record of their inputs after REPLAYS_KEPT_DAYS, and a match that moved no rating after
// MATCHES_KEPT_DAYS. A match that did is part of its players' chains of ratings, and stays. Ids of matches begin with their time: a page
// of the oldest is looked at, and no index of its own is needed.
import type { Clock } from '../../../core/clock.ts'
import type { Pool } from '../../../core/db/database.ts'
import { firstIdAt } from '../../../core/ledger/job.ts'
import type { Prunable } from '../../../core/retention.ts'
import type { ArenaSettings } from '../settings.ts'

const onPage = (change: string): string => `
  with page as materialized (
    select match_id from match_results where match_id > $1 and match_id < $2 order by match_id limit $4
  ), changed as (${change})
  select count(*)::integer as seen, (select match_id from page order by match_id desc limit 1) as last from page`

const IS_OLD = `r.match_id in (select match_id from page) and r.finished_at < statement_timestamp() - $3 * interval '1 day'`

const DELETE_MATCHES = onPage(`
    delete from match_results r
     where ${IS_OLD} and not exists (select from rating_applies a where a.match_id = r.match_id)`)

const DELETE_REPLAYS = onPage(`update match_results r set inputs = '' where ${IS_OLD} and r.inputs <> ''`)

const PAGE_ROWS = 500
const DAY_MS = 86_400_000
const FIRST = '00000000-0000-0000-0000-000000000000'

interface MatchRetentionDeps {
  database: Pool
  clock: Clock
}

export const matchRetention = (
  deps: MatchRetentionDeps,
  settings: Pick<ArenaSettings, 'MATCHES_KEPT_DAYS' | 'REPLAYS_KEPT_DAYS'>,
  page = PAGE_ROWS,
): Prunable[] => [
  { name: 'matches', runOnce: walk(deps, DELETE_MATCHES, settings.MATCHES_KEPT_DAYS, page) },
  { name: 'replays', runOnce: walk(deps, DELETE_REPLAYS, settings.REPLAYS_KEPT_DAYS, page) },
]

/** Each call looks at the next page. Once a day it starts over. */
function walk({ database, clock }: MatchRetentionDeps, sql: string, days: number, page: number) {
  let place = FIRST
  let startedAt = clock.now()
  return async (): Promise<boolean> => {
    if (days === 0) return false
    if (clock.now() - startedAt >= DAY_MS) [place, startedAt] = [FIRST, clock.now()]
    type Walked = { seen: number; last: string | null }
    const bound = firstIdAt(clock.now() - days * DAY_MS)
    const [walked] = await database.query<Walked>(sql, [place, bound, days, page])
    place = walked?.last ?? place
    return walked?.seen === page
  }
}
