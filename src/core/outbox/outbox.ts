// The outbox: what must leave the database because something in it changed, written in the transaction that changed it.
//
//   transition ── add (an effect) ──► pending ──► dispatcher (dispatcher.ts) ──► delivered | dead ── replay ──► pending
//
// A topic says who delivers a row: a door declares a Delivery (delivery.ts) for each of its topics. Only this folder, and the
// two hot paths that write rows of their own topics (core/ledger/submit, core/events/events.ts), name the table.
import type { Database, Queryable } from '../db/database.ts'
import type { Effect } from '../ledger/effects.ts'

// A job has one row of a topic: an effect that is repeated adds nothing. Rows of no job are never equal.
const ADD = `
  insert into outbox_events (job_id, topic, payload)
  select job_id, topic, payload from json_to_recordset($1) as r (job_id uuid, topic text, payload json)
      on conflict (job_id, topic) do nothing`

const IS_PENDING = `
  select exists (select from outbox_events where job_id = $1 and topic = $2 and status = 'pending') as is_pending`

// Only live and dead rows: both have an index of their own.
const COUNT = `
  select status, count(*)::integer as count from outbox_events
   where topic = $1 and status in ('pending', 'dead') group by status`

const COLUMNS = `
  outbox_id, topic, payload, status, attempts - attempts_forgiven as attempts, last_error, created_at`

const READ = `select ${COLUMNS} from outbox_events where outbox_id = $2 and topic = any($1)`

const LIST = `
  select ${COLUMNS}
    from outbox_events
   where topic = any($1) and status = $2 and ($3::bigint is null or outbox_id < $3)
   order by outbox_id desc limit $4`

// Without payloads: for what is looked at every second.
const STATES = `
  select outbox_id, status, attempts - attempts_forgiven as attempts, last_error from outbox_events
   where outbox_id = any($2) and topic = any($1)`

const OF_JOBS = `
  select job_id, outbox_id, topic, status, attempts - attempts_forgiven as attempts from outbox_events
   where job_id = any($2::uuid[]) and topic = any($1)`

const NEWEST_DEAD = `
  select outbox_id from outbox_events where topic = any($1) and status = 'dead' order by outbox_id desc limit 1`

// `attempts` is the fence of whoever still holds the row, so it never goes back: what came before no longer counts.
const REPLAY = `
  update outbox_events
     set status = 'pending', attempts_forgiven = attempts, next_attempt_at = clock_timestamp(), last_error = null
   where outbox_id = any(array(
           select outbox_id from outbox_events
            where topic = any($1) and status = 'dead' and ($2::bigint is null or outbox_id = $2)
              and ($4::timestamptz is null or created_at >= $4)
            order by outbox_id limit $3))
     and status = 'dead'
  returning outbox_id`

const RESEND = `
  update outbox_events
     set status = 'pending', attempts_forgiven = attempts, next_attempt_at = clock_timestamp(), last_error = null
   where job_id = $1 and topic = $2 and status in ('delivered', 'dead')
  returning outbox_id`

const REPLAY_MAX = 10_000

export interface NewOutboxRow {
  /** The job that it is about: at most one row for each topic. */
  jobId?: string
  payload: unknown
}

export interface ListedRow {
  outboxId: number
  topic: string
  payload: unknown
  status: 'pending' | 'delivered' | 'dead'
  /** Since the last replay. */
  attempts: number
  lastError: string | null
  createdAt: Date
}

export type RowState = Pick<ListedRow, 'outboxId' | 'status' | 'attempts' | 'lastError'>

export type RowOfJob = Pick<ListedRow, 'outboxId' | 'topic' | 'status' | 'attempts'> & { jobId: string }

/** Which dead rows are replayed: one, or all that were added since a time. Empty: all. */
export interface ReplayChoice {
  outboxId?: number
  since?: Date
}

export interface ListFilter {
  topics: readonly string[]
  status: ListedRow['status']
  before: number | null
  limit: number
}

// Through outbox_events_due_by_topic: few rows wait at any time.
const COUNT_LATE = `
  select count(*)::integer as count
    from (select 1 from outbox_events
           where status = 'pending' and topic = any($1) and created_at < clock_timestamp() - $2 * interval '1 second'
           limit $3) as late`

export interface Outbox {
  /** Makes the row part of a transition: it is written if the transition happens. */
  add(topic: string, row: NewOutboxRow): Effect
  /** In a transaction of the caller's own, which calls `wake` after its commit. */
  addIn(tx: Queryable, topic: string, row: NewOutboxRow): Promise<void>
  /** Rows were committed outside the ledger's transitions: look now. */
  wake(): void
  /** Whether this job's row still waits to be delivered. */
  isPending(topic: string, jobId: string): Promise<boolean>
  /** Makes this job's row pending again if it was delivered or is dead. The caller calls `wake` after its commit. */
  resendIn(tx: Queryable, topic: string, jobId: string): Promise<boolean>
  count(topic: string): Promise<{ pending: number; dead: number }>
  /** Rows that wait for longer than this, up to `max`. */
  countLate(topics: readonly string[], late: { olderThanSec: number; max: number }): Promise<number>
  read(topics: readonly string[], outboxId: number): Promise<ListedRow | null>
  /** Newest first. */
  list(filter: ListFilter): Promise<ListedRow[]>
  states(topics: readonly string[], outboxIds: readonly number[]): Promise<RowState[]>
  /** What these jobs caused, in any order. */
  ofJobs(topics: readonly string[], jobIds: readonly string[]): Promise<RowOfJob[]>
  /** Null: none is dead. */
  newestDead(topics: readonly string[]): Promise<number | null>
  /** Dead rows become pending again, the oldest first, up to 10,000. Resolves to those that did. */
  replay(topics: readonly string[], choice?: ReplayChoice): Promise<number[]>
}

export function openOutbox(database: Database, wake: () => void): Outbox {
  return {
    add: (topic, row) => ({ sql: ADD, row: rowOf(topic, row), topic }),
    async addIn(tx, topic, row) {
      await tx.query(ADD, [JSON.stringify([rowOf(topic, row)])])
    },
    wake,
    async isPending(topic, jobId) {
      const [row] = await database.query<{ is_pending: boolean }>(IS_PENDING, [jobId, topic])
      return row?.is_pending === true
    },
    async resendIn(tx, topic, jobId) {
      return (await tx.query(RESEND, [jobId, topic])).length > 0
    },
    async count(topic) {
      const rows = await database.query<{ status: string; count: number }>(COUNT, [topic])
      const countOf = (status: string) => rows.find((row) => row.status === status)?.count ?? 0
      return { pending: countOf('pending'), dead: countOf('dead') }
    },
    async countLate(topics, { olderThanSec, max }) {
      const [row] = await database.query<{ count: number }>(COUNT_LATE, [topics, olderThanSec, max])
      return row?.count ?? 0
    },
    async read(topics, outboxId) {
      const [row] = await database.query<StoredDelivery>(READ, [topics, outboxId])
      return row === undefined ? null : listedFrom(row)
    },
    async list({ topics, status, before, limit }) {
      return (await database.query<StoredDelivery>(LIST, [topics, status, before, limit])).map(listedFrom)
    },
    async states(topics, outboxIds) {
      const rows = await database.query<Omit<StoredDelivery, 'topic' | 'payload' | 'created_at'>>(STATES, [
        topics,
        outboxIds,
      ])
      return rows.map(({ outbox_id: id, status, attempts, last_error: lastError }) => ({
        outboxId: Number(id),
        status,
        attempts,
        lastError,
      }))
    },
    async ofJobs(topics, jobIds) {
      type Found = Pick<StoredDelivery, 'outbox_id' | 'topic' | 'status' | 'attempts'> & { job_id: string }
      const rows = await database.query<Found>(OF_JOBS, [topics, jobIds])
      return rows.map(({ job_id: jobId, outbox_id: id, ...row }) => ({ jobId, outboxId: Number(id), ...row }))
    },
    async newestDead(topics) {
      const [row] = await database.query<{ outbox_id: string }>(NEWEST_DEAD, [topics])
      return row === undefined ? null : Number(row.outbox_id)
    },
    async replay(topics, { outboxId = null, since = null } = {}) {
      const rows = await database.query<{ outbox_id: string }>(REPLAY, [topics, outboxId, REPLAY_MAX, since])
      if (rows.length > 0) wake()
      return rows.map((row) => Number(row.outbox_id))
    },
  }
}

const rowOf = (topic: string, { jobId, payload }: NewOutboxRow) => ({ job_id: jobId, topic, payload })

interface StoredDelivery {
  outbox_id: string
  topic: string
  payload: unknown
  status: ListedRow['status']
  attempts: number
  last_error: string | null
  created_at: Date
}

const listedFrom = (row: StoredDelivery): ListedRow => ({
  outboxId: Number(row.outbox_id),
  topic: row.topic,
  payload: row.payload,
  status: row.status,
  attempts: row.attempts,
  lastError: row.last_error,
  createdAt: row.created_at,
})
