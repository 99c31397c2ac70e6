// acquire: pending, or processing whose lease has expired → processing, with the next attempt_id. One transition for fresh
// and for abandoned jobs: the new number fences out the earlier holder.
import { numbersParam, textsParam, uuidsParam } from '../db/params.ts'
import { refused, type Refused } from '../values/outcome.ts'
import type { Pool, Queryable } from '../db/database.ts'
import { inOrder, sendEffects, topicsOf, type Effect } from './effects.ts'
import type { Acquired, JobState } from './job.ts'
import { hideFromPlanner, literal } from '../db/sql.ts'
import { sorted } from './refusal.ts'

const SEARCH_LOCK = 7_305_861 // an advisory lock that nothing else uses; its second key is the kind

const RETURNED = `jobs.job_id, jobs.payload, jobs.priority, jobs.attempt_id, jobs.account_id, jobs.trace_id`

const IS_READY = `finished_at is null and due_at is null
       and case when state = 'pending' then true
                else lease_until <= clock_timestamp() and coalesce(attempt_id - releases < max_attempts, true) end`

/**
 * SQL: whether a job of this kind is fresh or abandoned. From the end: a busy kind has fresh jobs there, behind thousands in progress. (In
 * `exists`, PostgreSQL would drop the order.)
 */
export const canBeTaken = (kind: string): string =>
  `(select true from jobs where kind = ${literal(kind)} and ${IS_READY} order by rank desc, job_id desc limit 1) is true`

// Where several busy processes search, one of them does so at a time (core/feed/search-turn.ts). The others do not wait: they get one row
// without a job.
const TURN = `turn as materialized (
    select case when $5 then pg_try_advisory_xact_lock(${SEARCH_LOCK}, hashtext($1)) else true end as is_ours
  )`

// Abandoned jobs keep their rank, so they come before younger ones. The update finds the rows by their address, because the
// same statement has just locked them.
const ACQUIRE_NEXT = `
  with ${TURN}, picked as materialized (
    select ctid as address, rank, job_id, state, attempt_id, lease_owner, started_at, clock_timestamp() as at
      from jobs
     where kind = $1 and ${IS_READY} and (select is_ours from turn)
     order by rank, job_id limit $2
       for update skip locked
  ), taken as (
    update jobs
       set state = 'processing', attempt_id = jobs.attempt_id + 1, started_at = picked.at,
           lease_owner = $3, lease_until = clock_timestamp() + $4 * interval '1 ms'
      from picked where jobs.ctid = picked.address
    returning ${RETURNED}, jobs.rank, picked.state = 'processing' as abandoned, picked.attempt_id as before,
              picked.lease_owner as owner_before, picked.started_at as started_before, picked.at
  ), ended as (
    insert into attempts (job_id, attempt_id, owner, started_at, ended_at, outcome)
    select job_id, before, owner_before, started_before, at, 'lease_expired' from taken where abandoned
  )
  select is_ours, job_id, payload, priority, attempt_id, account_id, trace_id, abandoned, rank from turn left join taken on true`

// Only fresh jobs, and only from a rank on: for an executor that took jobs a moment ago. One scan reads all addresses: a join
// would begin a scan for each, and ask the system for the size of the table each time (a fifth of the statement).
const acquireNextFromWhere = (rank: string, condition: string): string => `
  update jobs
     set state = 'processing', attempt_id = jobs.attempt_id + 1, started_at = clock_timestamp(),
         lease_owner = $3, lease_until = clock_timestamp() + $4 * interval '1 ms'
   where ctid = any (array(
      select ctid from jobs
       where kind = $1 and finished_at is null and due_at is null and rank >= ${rank} and ${condition}
       order by rank, job_id limit $2
         for update skip locked))
  returning ${RETURNED}, jobs.rank`

const IS_PENDING = hideFromPlanner(`state = 'pending'`)
const ACQUIRE_NEXT_FROM = acquireNextFromWhere('$5', IS_PENDING)
const ACQUIRE_NEXT_FROM_EXCLUSIVELY = `
  with ${TURN}, taken as (${acquireNextFromWhere('$6', `(select is_ours from turn) and ${IS_PENDING}`)})
  select is_ours, taken.* from turn left join taken on true`

const ASKED = `unnest($1::uuid[], $2::text[], $3::integer[]) as asked (job_id, owner, lease_ms)`

// Jobs that the feed names are nearly always fresh: one update takes them. The next statement judges the others.
const ACQUIRE_FRESH = `
  update jobs
     set state = 'processing', attempt_id = jobs.attempt_id + 1, started_at = clock_timestamp(), due_at = null,
         lease_owner = asked.owner, lease_until = clock_timestamp() + asked.lease_ms * interval '1 ms'
    from ${ASKED}
   where jobs.job_id = asked.job_id
     and ${hideFromPlanner(`jobs.state = 'pending' and coalesce(jobs.due_at <= clock_timestamp(), true)`)}
  returning ${RETURNED}, jobs.kind, false as abandoned`

// The same for one owner: one scan of the index, in its order, where a join would begin one for each job. PostgreSQL sorts the ids.
const ACQUIRE_FRESH_OF_ONE = `
  update jobs
     set state = 'processing', attempt_id = jobs.attempt_id + 1, started_at = clock_timestamp(), due_at = null,
         lease_owner = $2, lease_until = clock_timestamp() + $3 * interval '1 ms'
   where job_id = any($1::uuid[])
     and ${hideFromPlanner(`jobs.state = 'pending' and coalesce(jobs.due_at <= clock_timestamp(), true)`)}
  returning ${RETURNED}, jobs.kind, false as abandoned`

// The row is locked before it is judged: a waiting call gets the current reason, not that of an older snapshot.
const ACQUIRE_JUDGED = `
  with seen as materialized (
    select asked.owner, asked.lease_ms, j.job_id, j.kind, j.payload, j.priority, j.attempt_id, j.account_id, j.trace_id,
           j.started_at, j.state, j.due_at, j.lease_owner, j.lease_until,
           coalesce(j.attempt_id - j.releases >= j.max_attempts, false) as exhausted
      from ${ASKED}
      join jobs j on j.job_id = asked.job_id
     order by j.job_id for update of j
  ), judged as materialized (
    select *, state = 'processing' and lease_until <= clock_timestamp() as abandoned,
           state = 'pending' and coalesce(due_at <= clock_timestamp(), true) as ready, clock_timestamp() as at
      from seen
  ), ended as (
    insert into attempts (job_id, attempt_id, owner, started_at, ended_at, outcome)
    select job_id, attempt_id, lease_owner, started_at, at, 'lease_expired' from judged where abandoned and not exhausted
  ), taken as (
    update jobs
       set state = 'processing', attempt_id = jobs.attempt_id + 1, started_at = judged.at, due_at = null,
           lease_owner = judged.owner, lease_until = clock_timestamp() + judged.lease_ms * interval '1 ms'
      from judged
     where jobs.job_id = judged.job_id and (judged.ready or judged.abandoned and not judged.exhausted)
  )
  select job_id, kind, payload, priority, attempt_id + 1 as attempt_id, account_id, trace_id,
         state, ready, abandoned, exhausted
    from judged`

/** In order of precedence. `exhausted`: abandoned and out of attempts; it can only be buried. */
export type AcquireRefusal = 'unknown_job' | 'already_finished' | 'not_due' | 'lease_still_valid' | 'exhausted'

export type AcquireAnswer = { ok: true; job: Acquired } | Refused<AcquireRefusal>

export interface AcquireRequest {
  jobId: string
  owner: string
  leaseMs: number
  /** Committed with the acquire: what the door records about the holder. */
  effects?: (job: Acquired) => readonly Effect[]
}

export interface AcquireNextRequest {
  kind: string
  limit: number
  owner: string
  leaseMs: number
  /** Only if no other process searches exclusively for jobs of this kind. */
  exclusively?: boolean
}

export interface AcquiredNext {
  jobs: Acquired[]
  /** Another process searches: nothing was looked at. */
  isOthersTurn: boolean
  /** The highest rank among them. Null: nothing was acquired. */
  lastRank: number | null
}

/** The best jobs of one kind, at most `limit`: fresh or abandoned ones, or from a rank on fresh ones only. */
export async function acquireNextFrom(
  on: Queryable,
  rank: number | null,
  { kind, limit, owner, leaseMs, exclusively = false }: AcquireNextRequest,
): Promise<AcquiredNext> {
  const params = [kind, limit, owner, leaseMs]
  if (rank !== null && !exclusively) {
    const rows = await on.query<RankedRow>(ACQUIRE_NEXT_FROM, [...params, rank])
    return { isOthersTurn: false, ...inOrderOfRank(rows, kind, owner) }
  }
  const rows = await (rank === null
    ? on.query<TurnRow>(ACQUIRE_NEXT, [...params, exclusively])
    : on.query<TurnRow>(ACQUIRE_NEXT_FROM_EXCLUSIVELY, [...params, exclusively, rank]))
  const isOthersTurn = rows.some((row) => !row.is_ours)
  return { isOthersTurn, ...inOrderOfRank(rows.filter(holdsJob), kind, owner) }
}

function inOrderOfRank(rows: readonly RankedRow[], kind: string, owner: string) {
  const ranked = rows.map((row) => ({ rank: Number(row.rank), job: acquiredFrom(row, kind, owner) }))
  ranked.sort((a, b) => a.rank - b.rank || (a.job.jobId < b.job.jobId ? -1 : 1)) // they come in the order of their addresses
  return { jobs: ranked.map(({ job }) => job), lastRank: ranked.at(-1)?.rank ?? null }
}

/** Acquires each named job, or says why not. No job may be named twice in one call. */
export async function acquire(
  pool: Pool,
  requests: readonly AcquireRequest[],
  onOutbox: (topics: readonly string[]) => void,
): Promise<AcquireAnswer[]> {
  if (requests.every(({ effects }) => effects === undefined)) return acquireOn(pool, requests)
  const { answers, topics } = await pool.transaction(async (tx) => {
    const answers = await acquireOn(tx, requests)
    const effects = requests.flatMap((request, index) => {
      const answer = answers[index]
      return answer?.ok === true ? (request.effects?.(answer.job) ?? []) : []
    })
    sendEffects(tx, effects)
    return { answers, topics: topicsOf(effects) }
  })
  if (topics.length > 0) onOutbox(topics)
  return answers
}

/** The same as a statement of the caller's own transaction. */
export async function acquireOn(on: Queryable, requests: readonly AcquireRequest[]): Promise<AcquireAnswer[]> {
  const fresh = await acquireFresh(on, requests)
  const freshOf = new Map(fresh.map((row) => [row.job_id, row]))
  const rest = requests.filter((request) => !freshOf.has(request.jobId))
  const judged = rest.length === 0 ? [] : await on.query<JudgedRow>(ACQUIRE_JUDGED, askedColumns(rest))

  return inOrder(requests, judged, (request, row) => {
    const taken = freshOf.get(request.jobId)
    return taken === undefined
      ? explain(row, request)
      : { ok: true, job: acquiredFrom(taken, taken.kind, request.owner) }
  })
}

function acquireFresh(on: Queryable, requests: readonly AcquireRequest[]): Promise<AcquiredRow[]> {
  const [first] = requests
  const isOfOne =
    first !== undefined && requests.every(({ owner, leaseMs }) => owner === first.owner && leaseMs === first.leaseMs)
  if (!isOfOne) return on.query<AcquiredRow>(ACQUIRE_FRESH, askedColumns(requests))
  const jobIds = uuidsParam(requests.map(({ jobId }) => jobId))
  return on.query<AcquiredRow>(ACQUIRE_FRESH_OF_ONE, [jobIds, first.owner, first.leaseMs])
}

function askedColumns(requests: readonly AcquireRequest[]) {
  const asked = sorted(requests)
  return [
    uuidsParam(asked.map(({ jobId }) => jobId)),
    textsParam(asked.map(({ owner }) => owner)),
    numbersParam(asked.map(({ leaseMs }) => leaseMs)),
  ]
}

interface NextRow {
  job_id: string
  payload: unknown
  priority: number
  attempt_id: number
  account_id: string | null
  trace_id: string | null
  /** An earlier holder's lease expired. Absent: only fresh jobs were asked for. */
  abandoned?: boolean
}

type RankedRow = NextRow & { rank: string }

type TurnRow = (RankedRow | { job_id: null }) & { is_ours: boolean }

const holdsJob = (row: TurnRow): row is RankedRow & { is_ours: boolean } => row.job_id !== null

interface AcquiredRow extends NextRow {
  kind: string
}

interface JudgedRow extends AcquiredRow {
  state: JobState
  ready: boolean
  exhausted: boolean
}

function explain(row: JudgedRow | undefined, { owner }: AcquireRequest): AcquireAnswer {
  if (row === undefined) return refused('unknown_job')
  if (row.ready || (row.abandoned && !row.exhausted)) return { ok: true, job: acquiredFrom(row, row.kind, owner) }
  if (row.state === 'done' || row.state === 'dead') return refused('already_finished')
  if (row.state === 'pending') return refused('not_due')
  return refused(row.abandoned ? 'exhausted' : 'lease_still_valid')
}

const acquiredFrom = (row: NextRow, kind: string, owner: string): Acquired => ({
  jobId: row.job_id,
  kind,
  payload: row.payload,
  priority: row.priority,
  attemptId: row.attempt_id,
  owner,
  accountId: row.account_id === null ? null : Number(row.account_id),
  traceId: row.trace_id,
  wasAbandoned: row.abandoned === true,
})
