// repair: looks for what no hands will find by themselves. It moves nothing that a transition would move: it says which
// jobs are abandoned (acquire takes them over, or bury ends them), and lets delayed jobs into the order when they are due.
import type { Queryable } from '../database.ts'

const PROMOTE_DUE = `
  with due as materialized (
    select job_id from jobs
     where state = 'pending' and due_at <= clock_timestamp()
     order by due_at limit $1 for update skip locked
  )
  update jobs set due_at = null from due where jobs.job_id = due.job_id
  returning jobs.job_id, jobs.kind, jobs.priority`

const NEXT_DUE = `
  select (extract(epoch from min(due_at) - clock_timestamp()) * 1000)::float8 as in_ms
    from jobs where state = 'pending' and due_at is not null`

const FIND_ABANDONED = `
  select job_id, kind, priority from jobs
   where state = 'processing' and kind = any($1) and lease_until <= clock_timestamp()
     and coalesce(attempt_id - releases >= max_attempts, false) = $2
   limit $3`

const FIND_WAITING = `
  select job_id, kind, priority from jobs
   where kind = $1 and state = 'pending' and due_at is null
     and submitted_at <= clock_timestamp() - $2 * interval '1 ms' and job_id > $3
   order by job_id limit $4`

const DELETE_OLD_KEYS = `
  delete from idempotency_keys where ctid = any(array(
    select ctid from idempotency_keys where created_at < clock_timestamp() - interval '48 hours' limit $1))`

/** Enough of a job to announce it. */
export interface Announced {
  jobId: string
  kind: string
  priority: number
}

export interface AbandonedFilter {
  kinds: readonly string[]
  /** True: those out of attempts, to be buried. False: those to be acquired by somebody else. */
  exhausted: boolean
  limit: number
}

type Found = { job_id: string; kind: string; priority: number }

const announced = (row: Found): Announced => ({ jobId: row.job_id, kind: row.kind, priority: row.priority })

/** Delayed jobs whose time has come become ready. */
export const promoteDue = async (on: Queryable, limit: number): Promise<Announced[]> =>
  (await on.query<Found>(PROMOTE_DUE, [limit])).map(announced)

/** Milliseconds until the next delayed job is due, or null when there is none. */
export async function nextDueMs(on: Queryable): Promise<number | null> {
  const [row] = await on.query<{ in_ms: number | null }>(NEXT_DUE)
  return row === undefined || row.in_ms === null ? null : Math.max(0, row.in_ms)
}

export const findAbandoned = async (
  on: Queryable,
  { kinds, exhausted, limit }: AbandonedFilter,
): Promise<Announced[]> => (await on.query<Found>(FIND_ABANDONED, [kinds, exhausted, limit])).map(announced)

export interface WaitingFilter {
  kind: string
  /** Submitted at least so long ago. */
  olderThanMs: number
  /** Where the last pass ended. */
  afterJobId: string
  limit: number
}

/** Ready jobs that have waited for a while, in order of age: the feed may have lost them. */
export const findWaiting = async (on: Queryable, filter: WaitingFilter): Promise<Announced[]> =>
  (await on.query<Found>(FIND_WAITING, [filter.kind, filter.olderThanMs, filter.afterJobId, filter.limit])).map(
    announced,
  )

export const deleteOldKeys = async (on: Queryable, limit: number): Promise<void> => {
  await on.query(DELETE_OLD_KEYS, [limit])
}
