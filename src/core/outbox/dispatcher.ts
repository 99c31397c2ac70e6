// The outbox's dispatcher: rows that a transaction left behind are delivered, at least once, by topic.
//
//   pending ──claim (attempts + 1, next attempt after a backoff)──► delivered (deleted, or kept as a log)
//      ▲                                                        └─► refused: pending again, or dead
//      └── a dispatcher that dies in between: the backoff runs out, and another one claims the row
//          (one that was only slow finds a newer attempt, and settles nothing)
//
// Claiming skips what others hold (`for update skip locked`), so that any number of dispatchers may run. A claim, and the deletion of
// a delivered row, wait for no flush: a database that crashes may forget them, and the row is delivered once more. Rows that only
// move to another table of this database need no claim (Transfer).
import { setTimeout as sleep } from 'node:timers/promises'
import { storableText, type Database, type Queryable } from '../db/database.ts'
import { groupBy } from '../values/group-by.ts'
import { retryWaitMs } from '../concurrency/retry.ts'
import { hideFromPlanner, literal } from '../db/sql.ts'
import { Wake, type Loop } from '../loop.ts'
import type { Delivered, DeliveredRow, Delivery, OutboxRow, Transfer } from './delivery.ts'
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
         next_attempt_at = clock_timestamp() + $3 * power(2, least(attempts - attempts_forgiven, 5)) * interval '1 ms'
    from due where outbox_events.outbox_id = due.outbox_id
  returning outbox_events.outbox_id, job_id, topic, payload, attempts as fence, attempts - attempts_forgiven as attempts`

// Fenced by the attempt: whoever took so long that another claimed the row leaves it alone.
const DELETE_DELIVERED = `
  delete from outbox_events using json_to_recordset($1) as r (outbox_id bigint, fence integer)
   where outbox_events.outbox_id = r.outbox_id
     and ${hideFromPlanner(`outbox_events.status = 'pending'`)} and outbox_events.attempts = r.fence`

const DELETE_OF_JOBS = `delete from outbox_events where job_id = any($2::uuid[]) and topic = $1`

const MARK_OF_JOBS = `
  update outbox_events
     set status = 'delivered', attempts = attempts + 1, dispatched_at = clock_timestamp(), last_error = null,
         stream_entry_id = r.entry_id
    from json_to_recordset($2) as r (job_id uuid, entry_id text)
   where outbox_events.job_id = r.job_id and topic = $1 and ${hideFromPlanner(`outbox_events.status = 'pending'`)}`

const SETTLE = `
  update outbox_events
     set status = r.status, last_error = r.error, stream_entry_id = coalesce(r.entry_id, stream_entry_id),
         dispatched_at = case when r.status = 'delivered' then clock_timestamp() end,
         next_attempt_at = clock_timestamp() + r.wait_ms * interval '1 ms'
    from json_to_recordset($1) as r (outbox_id bigint, fence integer, status text, error text, entry_id text, wait_ms bigint)
   where outbox_events.outbox_id = r.outbox_id
     and ${hideFromPlanner(`outbox_events.status = 'pending'`)} and outbox_events.attempts = r.fence`

const EVERY_MS = 1000
const CLAIM_MS = 60_000
const ERROR_CHARS_MAX = 1000

export interface Dispatcher {
  /** Something was written to these topics: look now. Null: to any of them. */
  wake(topics: readonly string[] | null): void
  loops: Loop[]
}

export function openDispatcher(
  database: Database,
  deliveries: readonly (Delivery | Transfer)[],
  metrics: OutboxMetrics,
): Dispatcher {
  const dispatchers = deliveries.map((delivery) => ({ delivery, wake: new Wake() }))
  const wakesOf = groupBy(dispatchers, ({ delivery }) => delivery.topic)
  /** One dispatcher of a topic is woken by new rows; the next one when it finds more than its batch. */
  const wakeNext = (topic: string, after: Wake | null) => {
    const same = wakesOf.get(topic) ?? []
    same[same.findIndex(({ wake }) => wake === after) + 1]?.wake.ring()
  }
  const loops = dispatchers.map(({ delivery, wake }): Loop => ({
    name: `deliver ${delivery.topic}`,
    everyMs: EVERY_MS,
    wake,
    isDue: `exists (select from outbox_events
                     where status = 'pending' and topic = ${literal(delivery.topic)} and next_attempt_at <= statement_timestamp())`,
    async runOnce(signal) {
      if (!('transfer' in delivery)) {
        const onFull = () => wakeNext(delivery.topic, wake)
        return dispatchOnce(database, { onFull, ...delivery }, metrics, signal)
      }
      const more = await transferOnce(delivery, metrics)
      if (!more && delivery.gatherMs !== undefined)
        await sleep(delivery.gatherMs, undefined, { signal }).catch(() => {})
      return more
    },
  }))
  return {
    wake(topics) {
      for (const topic of topics ?? wakesOf.keys()) wakeNext(topic, null)
    },
    loops,
  }
}

interface DispatchedDelivery extends Delivery {
  /** The batch is full, and is about to be delivered: there may be work for another dispatcher. */
  onFull?: () => void
}

/** One batch of one topic; true if there may be more. */
export async function dispatchOnce(
  database: Database,
  delivery: DispatchedDelivery,
  metrics: OutboxMetrics,
  signal: AbortSignal,
): Promise<boolean> {
  const claimed = await database.asyncCommit.query<StoredRow>(CLAIM, [
    delivery.topic,
    delivery.rowsMax,
    delivery.claimMs ?? CLAIM_MS,
  ])
  if (claimed.length === 0) return false
  const isFull = claimed.length === delivery.rowsMax
  if (isFull) delivery.onFull?.()

  const started = performance.now()
  const claims = claimed.map(claimFrom).sort((a, b) => a.row.outboxId - b.row.outboxId)
  const rows = claims.map(({ row }) => row)
  const answers = await deliverSafely(delivery, rows, signal)
  await settle(database, delivery, claims, answers)

  metrics.latency.observe((performance.now() - started) / 1000)
  for (const answer of answers) metrics.dispatched.inc(answer.ok ? DELIVERED : FAILED)
  return isFull
}

/** The same of rows that stay in the database. */
export async function transferOnce({ transfer }: Transfer, metrics: OutboxMetrics): Promise<boolean> {
  const started = performance.now()
  const { rows, more } = await transfer()
  if (rows === 0) return false
  metrics.latency.observe((performance.now() - started) / 1000)
  metrics.dispatched.inc(DELIVERED, rows)
  return more
}

/** Whoever wrote these rows has delivered them by itself: they are marked, or deleted where they are not kept. */
export async function settleDelivered(on: Queryable, rows: readonly DeliveredRow[], keeps: boolean): Promise<void> {
  for (const [topic, same] of groupBy(rows, (row) => row.topic)) {
    const marked = same.map(({ jobId, entryId }) => ({ job_id: jobId, entry_id: entryId }))
    if (keeps) await on.query(MARK_OF_JOBS, [topic, JSON.stringify(marked)])
    else await on.query(DELETE_OF_JOBS, [topic, same.map(({ jobId }) => jobId)])
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

async function settle(database: Database, delivery: Delivery, claims: readonly Claim[], answers: readonly Delivered[]) {
  const isGone = (index: number) => answers[index]?.ok === true && !delivery.keeps
  const gone = claims.filter((_, index) => isGone(index))
  const others = claims.flatMap((claim, index) => (isGone(index) ? [] : [settledRow(delivery, claim, answers[index])]))

  const fenced = gone.map(({ row, fence }) => ({ outbox_id: row.outboxId, fence }))
  if (gone.length > 0) await database.asyncCommit.query(DELETE_DELIVERED, [JSON.stringify(fenced)])
  if (others.length > 0) await database.hot.query(SETTLE, [JSON.stringify(others)])
}

function settledRow(delivery: Delivery, { row, fence }: Claim, answer: Delivered | undefined) {
  const base = { outbox_id: row.outboxId, fence, error: null, entry_id: null, wait_ms: 0 }
  if (answer?.ok === true) return { status: 'delivered', ...base, entry_id: answer.entryId ?? null }

  const gaveUp = answer?.final === true || (delivery.attemptsMax !== null && row.attempts >= delivery.attemptsMax)
  return {
    ...base,
    status: gaveUp ? 'dead' : 'pending',
    error: storableText(answer?.error ?? 'No answer from the delivery.', ERROR_CHARS_MAX),
    wait_ms: answer?.retryMs ?? retryWaitMs(row.attempts, delivery.retry),
  }
}

interface Claim {
  row: OutboxRow
  /** All attempts so far, those before a replay included. */
  fence: number
}

interface StoredRow {
  outbox_id: string
  job_id: string | null
  topic: string
  payload: unknown
  attempts: number
  fence: number
}

const claimFrom = ({ outbox_id, job_id, topic, payload, attempts, fence }: StoredRow): Claim => ({
  row: { outboxId: Number(outbox_id), jobId: job_id, topic, payload, attempts },
  fence,
})
