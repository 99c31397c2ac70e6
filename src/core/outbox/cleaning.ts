// Delivered rows that are kept as a log are thrown away when they are old. Rows are numbered in the order of their time, so
// that a pass walks from the oldest to the first that is too young, a page at a time, and needs no index of its own. What is
// pending or dead stays: somebody will deliver or replay it.
import type { Database } from '../db/database.ts'
import type { Loop } from '../loop.ts'

const CLEAN = `
  with page as materialized (
    select outbox_id, status, created_at < statement_timestamp() - $3 * interval '1 day' as is_old
      from outbox_events where outbox_id > $1 order by outbox_id limit $2
  ), deleted as (
    delete from outbox_events using page
     where outbox_events.outbox_id = page.outbox_id and page.is_old and page.status = 'delivered'
  )
  select max(outbox_id)::text as last, count(*) = $2 and coalesce(bool_and(is_old), false) as more from page`

const EVERY_MS = 600_000
const PAGE = 5000

export function outboxCleaning(database: Database, keptDays: number, page = PAGE): Loop {
  let place = '0'
  return {
    name: 'throw away old deliveries',
    everyMs: EVERY_MS,
    async runOnce() {
      type Cleaned = { last: string | null; more: boolean }
      const [cleaned] = await database.query<Cleaned>(CLEAN, [place, page, keptDays])
      const more = cleaned?.more === true
      place = more ? (cleaned?.last ?? '0') : '0'
      return more
    },
  }
}
