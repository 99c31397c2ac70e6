// The outbox's dispatcher: rows that a transaction left behind are delivered, at least once, by topic.
//
//   pending ──claim (attempts + 1, next attempt after a backoff)──► delivered (deleted, or kept as a log)
//      ▲                                                        └─► refused: pending again, or dead
//      └── a dispatcher that dies in between: the backoff runs out, and another one claims the row
//
// Claiming skips what others hold (`for update skip locked`), so that any number of dispatchers may run.
import { setTimeout as sleep } from 'node:timers/promises'
import { storableText, type Database, type Queryable } from '../db/database.ts'
import { groupBy } from '../group-by.ts'
import { retryWaitMs } from '../retry.ts'
import { hideFromPlanner } from '../db/sql.ts'
import { Wake, type Loop } from '../loop.ts'
import type { Delivered, Delivery, OutboxRow, RowKey } from './delivery.ts'
import type { OutboxMetrics } from './metrics.ts'

// Up to statement_timestamp(): an index cannot be read up to a clock that changes within the statement.
// The first claim's backoff is the time within which a delivery must end: a claimed row is nobody else's until then.
const CLAIM = `
  with due as materialized (
    select outbox_id from outbox_events
     where status = 'pending' and topic = $1 and next_attempt_at <= statement_timestamp()
     order by next_attempt_at limit $2 for update skip locked
  )
  update outbox_events
     set attempts = attempts + 1,
         next_attempt_at = clock_timestamp() + $3 * power(2, least(attempts, 5)) * interval '1 ms'
    from due where outbox_events.outbox_id = due.outbox_id
  returning outbox_events.outbox_id, job_id, topic, payload, attempts`

const DELETE_DELIVERED = `delete from outbox_events where outbox_id = any($1)`

const DELETE_OF_JOBS = `delete from outbox_events where job_id = any($2::uuid[]) and topic = $1`

const SETTLE = `
  update outbox_events
     set status = r.status, last_error = r.error, stream_entry_id = coalesce(r.entry_id, stream_entry_id),
         dispatched_at = case when r.status = 'delivered' then clock_timestamp() end,
         next_attempt_at = clock_timestamp() + r.wait_ms * interval '1 ms'
    from json_to_recordset($1) as r (outbox_id bigint, status text, error text, entry_id text, wait_ms bigint)
   where outbox_events.outbox_id = r.outbox_id and ${hideFromPlanner(`outbox_events.status = 'pending'`)}`

const EVERY_MS = 1000
const CLAIM_MS = 60_000
const ERROR_CHARS_MAX = 1000

export interface Dispatcher {
  /** Something was written to the outbox: look now. */
  wake(): void
  loops: Loop[]
}

export function openDispatcher(
  database: Database,
  deliveries: readonly Delivery[],
  metrics: OutboxMetrics,
): Dispatcher {
  const wakes = deliveries.map(() => new Wake())
  const loops = deliveries.map((delivery, index): Loop => ({
    name: `deliver ${delivery.topic}`,
    everyMs: EVERY_MS,
    wake: wakes[index] ?? new Wake(),
    async runOnce(signal) {
      const more = await dispatchOnce(database, delivery, metrics, signal)
      if (!more && delivery.gatherMs !== undefined)
        await sleep(delivery.gatherMs, undefined, { signal }).catch(() => {})
      return more
    },
  }))
  return { wake: () => wakes.forEach((wake) => wake.ring()), loops }
}

/** One batch of one topic; true if there may be more. */
export async function dispatchOnce(
  database: Database,
  delivery: Delivery,
  metrics: OutboxMetrics,
  signal: AbortSignal,
): Promise<boolean> {
  const claimed = await database.hot.query<ClaimedRow>(CLAIM, [
    delivery.topic,
    delivery.rowsMax,
    delivery.claimMs ?? CLAIM_MS,
  ])
  if (claimed.length === 0) return false

  const started = performance.now()
  const rows = claimed.map(rowFrom).sort((a, b) => a.outboxId - b.outboxId)
  const answers = await deliverSafely(delivery, rows, signal)
  await settle(database, delivery, rows, answers)

  metrics.latency.observe((performance.now() - started) / 1000)
  for (const answer of answers) metrics.dispatched.inc(answer.ok ? DELIVERED : FAILED)
  return claimed.length === delivery.rowsMax
}

/** Whoever wrote these rows has delivered them by itself. */
export async function deleteAnnounced(on: Queryable, rows: readonly RowKey[]): Promise<void> {
  for (const [topic, same] of groupBy(rows, (row) => row.topic)) {
    await on.query(DELETE_OF_JOBS, [topic, same.map(({ jobId }) => jobId)])
  }
}

const DELIVERED = { status: 'delivered', reason: '' }
const FAILED = { status: 'failed', reason: 'refused' }

async function deliverSafely(delivery: Delivery, rows: readonly OutboxRow[], signal: AbortSignal) {
  try {
    return await delivery.deliver(rows, signal)
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return rows.map((): Delivered => ({ ok: false, error: message }))
  }
}

async function settle(
  database: Database,
  delivery: Delivery,
  rows: readonly OutboxRow[],
  answers: readonly Delivered[],
) {
  const isGone = (index: number) => answers[index]?.ok === true && !delivery.keeps
  const gone = rows.filter((_, index) => isGone(index))
  const others = rows.flatMap((row, index) => (isGone(index) ? [] : [settledRow(delivery, row, answers[index])]))

  if (gone.length > 0) await database.hot.query(DELETE_DELIVERED, [gone.map((row) => row.outboxId)])
  if (others.length > 0) await database.hot.query(SETTLE, [JSON.stringify(others)])
}

function settledRow(delivery: Delivery, row: OutboxRow, answer: Delivered | undefined) {
  const base = { outbox_id: row.outboxId, error: null, entry_id: null, wait_ms: 0 }
  if (answer?.ok === true) return { ...base, status: 'delivered', entry_id: answer.entryId ?? null }

  const gaveUp = answer?.final === true || (delivery.attemptsMax !== null && row.attempts >= delivery.attemptsMax)
  return {
    ...base,
    status: gaveUp ? 'dead' : 'pending',
    error: storableText(answer?.error ?? 'No answer from the delivery.', ERROR_CHARS_MAX),
    wait_ms: answer?.retryMs ?? retryWaitMs(row.attempts, delivery.retry),
  }
}

interface ClaimedRow {
  outbox_id: string
  job_id: string | null
  topic: string
  payload: unknown
  attempts: number
}

const rowFrom = (row: ClaimedRow): OutboxRow => ({
  outboxId: Number(row.outbox_id),
  jobId: row.job_id,
  topic: row.topic,
  payload: row.payload,
  attempts: row.attempts,
})
