// Searching all jobs, newest first. Every statement reads a bounded number of rows, however many there are and however few match:
// it looks at a page of candidates and keeps those that match. A search that has looked at enough without filling its page
// says how far it came, and goes on from there when it is asked again.
//
// Candidates come from the index that has fewest of them: dead jobs from theirs; waiting and running ones from the live rows,
// unless there are very many; all others from the primary key, whose ids begin with their time.
import type { Pool, Queryable, Tx } from '../db/database.ts'
import type { Job, JobState } from './job.ts'
import { jobFrom, type JobRow } from './read.ts'

const CANDIDATES = 3000
const STATEMENTS_MAX = 12
export const COUNT_MAX = 10_000
const NEWEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff'
const OLDEST = '00000000-0000-0000-0000-000000000000'

// Without payload and result, which may be large.
const COLUMNS = `job_id, kind, state, priority, due_at, reason, attempt_id, max_attempts, lease_owner, lease_until, account_id,
  trace_id, replay_of, submitted_at, started_at, finished_at`

const BY_KEY = `
  select ${COLUMNS} from jobs where job_id < $1 and job_id >= $2 order by job_id desc limit ${CANDIDATES}`

// The kinds are found one by one in the index of dead jobs; a kind whose door is closed is among them. Kind and id are compared as
// a pair, which only that index serves: with a plain `kind =` the planner may walk the primary key past all other jobs.
const DEAD = `
  select dead.* from (
    with recursive kinds (kind) as (
      (select kind from jobs where reason is not null order by kind limit 1)
      union all
      select (select kind from jobs where reason is not null and kind > kinds.kind order by kind limit 1)
        from kinds where kinds.kind is not null
    ) select kind from kinds where kind is not null and ($3::text is null or kind = $3)
  ) as kinds cross join lateral (
    select ${COLUMNS} from jobs
     where reason is not null and (kind, job_id) < (kinds.kind, $1) and (kind, job_id) >= (kinds.kind, $2)
     order by kind desc, job_id desc limit ${CANDIDATES}
  ) as dead order by job_id desc limit ${CANDIDATES}`

const LIVE = `
  select ${COLUMNS} from (
    (select * from jobs where finished_at is null and due_at is null limit ${CANDIDATES})
    union all
    (select * from jobs where due_at is not null limit ${CANDIDATES})
  ) as live where job_id < $1 and job_id >= $2 order by job_id desc`

const MATCHES = `
  ($3::text is null or kind = $3) and ($4::job_state is null or state = $4) and ($5::bigint is null or account_id = $5)
  and ($6::text is null or lease_owner = $6) and ($7::text is null or trace_id = $7)
  and ($8::text is null or strpos(lower(reason), lower($8)) > 0) and ($9::integer is null or priority = $9)
  and ($10::boolean is null or (due_at is not null or attempt_id > 0) = $10)`

const searching = (candidates: string, shown: string) => `
  with page as materialized (${candidates})
  select seen.count::integer as candidates, seen.last, found.*
    from (select count(*), (select job_id from page order by job_id limit 1) as last from page) as seen
    left join lateral (select ${shown} from page where ${MATCHES} order by job_id desc limit $11) as found on true`

// Where the statistics promise few rows, the planner would rather read a whole table and sort it.
const IN_INDEX_ORDER = 'set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off'

const COUNT_LIVE_CANDIDATES = `
  select (select count(*) from (select from jobs where finished_at is null and due_at is null limit ${CANDIDATES}) as r)::integer as ready,
         (select count(*) from (select from jobs where due_at is not null limit ${CANDIDATES}) as d)::integer as delayed`

export interface JobSearch {
  kind?: string | undefined
  state?: JobState | undefined
  accountId?: number | undefined
  /** Who holds or held it. */
  owner?: string | undefined
  traceId?: string | undefined
  /** A part of the reason of a dead job, in any case. */
  reason?: string | undefined
  priority?: number | undefined
  /** Waits for its time or for its next attempt. */
  isDelayed?: boolean | undefined
  /** Only jobs older than this one. */
  before?: string | undefined
  /** Only this job and newer ones. */
  since?: string | undefined
}

/** A job without its payload and result. */
export type JobSummary = Omit<Job, 'payload' | 'result'>

export interface FoundJobs {
  jobs: JobSummary[]
  /** `before` of the next page. Null: there is none. A page may be short, or empty, and still have a next one. */
  next: string | null
}

interface SearchRow extends Omit<JobRow, 'payload' | 'result' | 'job_id'> {
  job_id: string | null
  candidates: number
  last: string | null
}

/** A transaction for searches and counts. */
export const forSearch = <Answer>(
  database: Pick<Pool, 'transaction'>,
  run: (on: Tx) => Promise<Answer>,
): Promise<Answer> =>
  database.transaction(async (tx) => {
    await tx.script(IN_INDEX_ORDER)
    return run(tx)
  })

export async function searchJobs(on: Queryable, search: JobSearch, limit: number): Promise<FoundJobs> {
  const source = await sourceOf(on, search)
  const jobs: JobSummary[] = []
  let before = search.before ?? NEWEST
  for (let statement = 0; statement < STATEMENTS_MAX; statement += 1) {
    const wanted = limit - jobs.length
    const rows = await on.query<SearchRow>(source.sql, [
      before,
      search.since ?? OLDEST,
      ...paramsOf(search),
      wanted + 1,
    ])
    const found = rows.flatMap((row) => (row.job_id === null ? [] : [summaryFrom({ ...row, job_id: row.job_id })]))
    jobs.push(...found.slice(0, wanted))
    if (found.length > wanted) return { jobs, next: jobs.at(-1)?.jobId ?? null }
    const { candidates = 0, last = null } = rows[0] ?? {}
    if (source.isWhole || candidates < CANDIDATES || last === null) return { jobs, next: null }
    if (jobs.length === limit) return { jobs, next: last }
    before = last
  }
  return { jobs, next: before }
}

export interface CountedJobs {
  count: number
  /** False: there are more, or there may be. */
  isExact: boolean
}

/** Exact up to COUNT_MAX, and as far as a search may look. */
export async function countMatching(on: Queryable, search: JobSearch): Promise<CountedJobs> {
  const source = await sourceOf(on, search, '1 as one, job_id')
  let count = 0
  let before = search.before ?? NEWEST
  for (let statement = 0; statement < STATEMENTS_MAX; statement += 1) {
    const rows = await on.query<{ job_id: string | null; candidates: number; last: string | null }>(source.sql, [
      before,
      search.since ?? OLDEST,
      ...paramsOf(search),
      COUNT_MAX - count + 1,
    ])
    count += rows.filter((row) => row.job_id !== null).length
    if (count > COUNT_MAX) return { count: COUNT_MAX, isExact: false }
    const { candidates = 0, last = null } = rows[0] ?? {}
    if (source.isWhole || candidates < CANDIDATES || last === null) return { count, isExact: true }
    before = last
  }
  return { count, isExact: false }
}

/** Of those that exist, in any order. */
export async function summariesOf(on: Queryable, jobIds: readonly string[]): Promise<JobSummary[]> {
  const sql = `select ${COLUMNS} from jobs where job_id = any($1::uuid[])`
  return (await on.query<Omit<JobRow, 'payload' | 'result'>>(sql, [jobIds])).map(summaryFrom)
}

const paramsOf = (search: JobSearch): unknown[] => [
  search.kind ?? null,
  search.state ?? null,
  search.accountId ?? null,
  search.owner ?? null,
  search.traceId ?? null,
  search.reason ?? null,
  search.priority ?? null,
  search.isDelayed ?? null,
]

/** `isWhole`: one statement has all candidates. */
async function sourceOf(
  on: Queryable,
  { state }: JobSearch,
  shown = COLUMNS,
): Promise<{ sql: string; isWhole: boolean }> {
  if (state === 'dead') return { sql: searching(DEAD, shown), isWhole: false }
  if (state !== 'pending' && state !== 'processing') return { sql: searching(BY_KEY, shown), isWhole: false }
  const [live] = await on.query<{ ready: number; delayed: number }>(COUNT_LIVE_CANDIDATES)
  const isFew = live !== undefined && live.ready < CANDIDATES && live.delayed < CANDIDATES
  return isFew ? { sql: searching(LIVE, shown), isWhole: true } : { sql: searching(BY_KEY, shown), isWhole: false }
}

const summaryFrom = (row: Omit<JobRow, 'payload' | 'result'>): JobSummary => {
  const { payload: _payload, result: _result, ...summary } = jobFrom({ ...row, payload: null, result: null })
  return summary
}
