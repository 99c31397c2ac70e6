// For a transfer (delivery.ts) whose rows need nothing more once they have moved: they are deleted in its own transaction.
import type { Tx } from '../db/database.ts'

// By an array: joined with a `limit`, the planner may lock more rows than it deletes.
const TAKE = `
  delete from outbox_events where outbox_id = any(array(
    select outbox_id from outbox_events
     where status = 'pending' and topic = $1 and next_attempt_at <= statement_timestamp()
     order by next_attempt_at limit $2 for update skip locked))
  returning outbox_id, payload`

/** Their payloads, in the order in which they were written. What another transaction holds is skipped. */
export async function takeRows(tx: Tx, topic: string, limit: number): Promise<unknown[]> {
  const rows = await tx.query<{ outbox_id: string; payload: unknown }>(TAKE, [topic, limit])
  return rows.toSorted((a, b) => Number(a.outbox_id) - Number(b.outbox_id)).map(({ payload }) => payload)
}
