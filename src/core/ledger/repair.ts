// repair: finds jobs that no executor would find by itself. It changes no state: it reports which jobs are abandoned (acquire
// takes them over, or bury ends them), and makes delayed jobs ready when they are due.
import type { Queryable } from '../db/database.ts'
import { hideFromPlanner } from '../db/sql.ts'

// statement_timestamp() limits an index scan. clock_timestamp() changes within the statement, so the scan could not use it as
// a bound and would walk the whole index.
const PROMOTE_DUE = `
  with due as materialized (
    select job_id from jobs
     where due_at <= statement_timestamp()
     order by due_at limit $1 for update skip locked
  )
  update jobs set due_at = null from due where jobs.job_id = due.job_id
  returning jobs.job_id, jobs.kind, jobs.priority`

const PROMOTE = `
  update jobs set due_at = null
   where job_id = any($1::uuid[]) and ${hideFromPlanner('due_at is not null')}
  returning job_id, kind, priority`

const NEXT_DUE = `
  select (extract(epoch from min(due_at) - clock_timestamp()) * 1000)::float8 as in_ms
    from jobs where due_at is not null`

/** SQL: whether a delayed job is due now or within this time. */
export const hasDueWithin = (ms: number): string =>
  `exists (select from jobs where due_at <= statement_timestamp() + ${ms} * interval '1 ms')`

/** SQL: whether a job waits or runs. */
export const HAS_LIVE = `exists (select from jobs where finished_at is null and due_at is null)`

// One page of the live jobs in their order: a pass over a long queue is bounded, and the next pass continues from there.
const FIND_ABANDONED = `
  with page as materialized (
    select job_id, kind, priority, rank, lease_until, attempt_id, releases, max_attempts from jobs
     where kind = $1 and finished_at is null and due_at is null and (rank, job_id) > ($2, $3)
     order by rank, job_id limit $4
  ), ending as (
    select rank, job_id from page order by rank desc, job_id desc limit 1
  )
  select page.job_id, kind, priority, (select count(*) from page)::integer as looked,
         ending.rank as last_rank, ending.job_id as last_job_id
    from ending left join page
      on lease_until <= clock_timestamp() and coalesce(attempt_id - releases >= max_attempts, false) = $5`

const FIND_WAITING = `
  select job_id, kind, priority, rank from jobs
   where kind = $1 and finished_at is null and due_at is null and (rank, job_id) > ($2, $3)
     and case when state = 'pending' then submitted_at <= clock_timestamp() - $4 * interval '1 ms' else false end
   order by rank, job_id limit $5`

const DELETE_OLD_KEYS = `
  delete from idempotency_keys where ctid = any(array(
    select ctid from idempotency_keys where created_at < statement_timestamp() - interval '48 hours' limit $1))
  returning true as deleted`

/** What it takes to announce a job. */
export interface ReadyJob {
  jobId: string
  kind: string
  priority: number
}

export interface AbandonedFilter {
  kinds: readonly string[]
  /** True: those out of attempts, to be buried. False: those that can be acquired again. */
  exhausted: boolean
}

type FoundRow = { job_id: string; kind: string; priority: number }

const announced = (row: FoundRow): ReadyJob => ({ jobId: row.job_id, kind: row.kind, priority: row.priority })

/** Makes delayed jobs ready that are due. */
export const promoteDue = async (on: Queryable, limit: number): Promise<ReadyJob[]> =>
  (await on.query<FoundRow>(PROMOTE_DUE, [limit])).map(announced)

/** Makes these jobs ready now if they are delayed. */
export const promote = async (on: Queryable, jobIds: readonly string[]): Promise<ReadyJob[]> =>
  (await on.query<FoundRow>(PROMOTE, [jobIds])).map(announced)

/** Milliseconds until the next delayed job is due, or null when there is none. */
export async function nextDueMs(on: Queryable): Promise<number | null> {
  const [row] = await on.query<{ in_ms: number | null }>(NEXT_DUE)
  return row === undefined || row.in_ms === null ? null : Math.max(0, row.in_ms)
}

/**
 * Each call checks the next page of live jobs of each kind, and starts over at the end. The first page is checked every time: jobs
 * that are being worked on are older than those that wait, however many wait.
 */
export function openAbandonedFinder(on: Queryable): (filter: AbandonedFilter) => Promise<ReadyJob[]> {
  const places = new Map<string, RankPosition>()

  const findFrom = async ({ rank, jobId }: RankPosition, kind: string, exhausted: boolean) => {
    const rows = await on.query<FoundInPageRow>(FIND_ABANDONED, [kind, rank, jobId, PAGE, exhausted])
    const [first] = rows
    const isLast = first === undefined || first.looked < PAGE
    return {
      jobs: rows.flatMap((row) => (row.job_id === null ? [] : [announced({ ...row, job_id: row.job_id })])),
      next: isLast ? null : { rank: first.last_rank, jobId: first.last_job_id },
    }
  }

  const find = async (kind: string, exhausted: boolean): Promise<ReadyJob[]> => {
    const turn = `${kind} ${exhausted}`
    const place = places.get(turn)
    const front = await findFrom(START, kind, exhausted)
    const page = place === undefined || front.next === null ? front : await findFrom(place, kind, exhausted)
    if (page.next === null) places.delete(turn)
    else places.set(turn, page.next)
    return page === front ? front.jobs : [...front.jobs, ...page.jobs]
  }

  return async ({ kinds, exhausted }) => (await Promise.all(kinds.map((kind) => find(kind, exhausted)))).flat()
}

const PAGE = 10_000

/** A position in the order of live jobs. */
export interface RankPosition {
  rank: string
  jobId: string
}

const START: RankPosition = { rank: '-9223372036854775808', jobId: '00000000-0000-0000-0000-000000000000' }

interface FoundInPageRow {
  /** Null: nothing on this page is abandoned. */
  job_id: string | null
  kind: string
  priority: number
  looked: number
  last_rank: string
  last_job_id: string
}

export interface WaitingFilter {
  kind: string
  /** Minimum age. */
  olderThanMs: number
  /** Where the last page ended; null: at the beginning. */
  after: RankPosition | null
  limit: number
}

/** Ready jobs of a minimum age, in their order: the feed may have lost them. `next` is null on the last page. */
export async function findWaiting(
  on: Queryable,
  { kind, olderThanMs, after, limit }: WaitingFilter,
): Promise<{ jobs: ReadyJob[]; next: RankPosition | null }> {
  const { rank, jobId } = after ?? START
  const rows = await on.query<FoundRow & { rank: string }>(FIND_WAITING, [kind, rank, jobId, olderThanMs, limit])
  const last = rows.length < limit ? undefined : rows.at(-1)
  return { jobs: rows.map(announced), next: last === undefined ? null : { rank: last.rank, jobId: last.job_id } }
}

/** Whether there may be more. */
export const deleteOldKeys = async (on: Queryable, limit: number): Promise<boolean> =>
  (await on.query(DELETE_OLD_KEYS, [limit])).length === limit
