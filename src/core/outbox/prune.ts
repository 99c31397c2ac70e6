// Delivered rows that are kept are pruned when they are old: those of the feed after OUTBOX_KEPT_DAYS, those of signed
// requests after DELIVERIES_KEPT_DAYS. Rows are numbered in the order of their time, so that a pass walks from the oldest to
// the first that is too young for either, a page at a time, and needs no index of its own. Pending and dead rows stay.
import type { Database } from '../db/database.ts'
import { BATCH_TOPIC, FEED_TOPIC } from '../ledger/submit/insert-jobs.ts'
import type { Loop } from '../loop.ts'

const PRUNE = `
  with page as materialized (
    select outbox_id, status, statement_timestamp() - created_at as age,
           case when topic in ('${FEED_TOPIC}', '${BATCH_TOPIC}') then $3::integer else $4::integer end * interval '1 day' as kept
      from outbox_events where outbox_id > $1 order by outbox_id limit $2
  ), deleted as (
    delete from outbox_events using page
     where outbox_events.outbox_id = page.outbox_id and page.age > page.kept and page.status = 'delivered'
  )
  select max(outbox_id)::text as last,
         count(*) = $2 and coalesce(bool_and(age > least($3::integer, $4::integer) * interval '1 day'), false) as more
    from page`

const EVERY_MS = 600_000
const PAGE = 5000

export interface KeptDays {
  feed: number
  deliveries: number
}

export function pruneOutbox(database: Database, kept: KeptDays, page = PAGE): Loop {
  let place = '0'
  return {
    name: 'prune-outbox',
    everyMs: EVERY_MS,
    async runOnce() {
      type Pruned = { last: string | null; more: boolean }
      const [pruned] = await database.query<Pruned>(PRUNE, [place, page, kept.feed, kept.deliveries])
      const more = pruned?.more === true
      place = more ? (pruned?.last ?? '0') : '0'
      return more
    },
  }
}
