// Queries. They change nothing and lock nothing.
import type { Queryable } from '../db/database.ts'
import type { Job, JobState } from './job.ts'

const COLUMNS = `job_id, kind, state, priority, due_at, payload, result, reason, attempt_id, max_attempts, lease_owner,
  lease_until, account_id, trace_id, replay_of, submitted_at, started_at, finished_at`

const SELECT_JOBS = `select ${COLUMNS} from jobs where job_id = any($1::uuid[])`

const SELECT_BRIEFS = `
  select job_id, kind, state, priority, payload, account_id, trace_id from jobs where job_id = any($1::uuid[])`

const SELECT_ENDED = `
  select asked.job_id from unnest($1::uuid[]) as asked (job_id)
    left join jobs on jobs.job_id = asked.job_id
   where jobs.job_id is null or jobs.finished_at is not null`

// Newest first: a job's id begins with its time.
const LIST_JOBS = `
  select ${COLUMNS} from jobs
   where ($1::text is null or kind = $1) and ($2::job_state is null or state = $2)
     and ($3::uuid is null or job_id < $3) and ($4::bigint is null or account_id = $4)
   order by job_id desc limit $5`

const COUNT_JOBS = `
  select kind, state, count(*)::integer as count from jobs where finished_at is null group by kind, state
   union all
  select kind, 'dead', count(*)::integer from jobs where reason is not null group by kind`

export const JOB_STATES = ['pending', 'processing', 'done', 'dead'] as const satisfies readonly JobState[]

export interface JobFilter {
  kind?: string | undefined
  state?: JobState | undefined
  accountId?: number | undefined
  /** Only jobs older than this one. */
  before?: string | undefined
  limit: number
}

export async function getJobs(on: Queryable, jobIds: readonly string[]): Promise<(Job | null)[]> {
  const rows = await on.query<JobRow>(SELECT_JOBS, [jobIds])
  const jobOf = new Map(rows.map((row) => [row.job_id, jobFrom(row)]))
  return jobIds.map((jobId) => jobOf.get(jobId) ?? null)
}

/** Those that are done, dead or deleted. */
export async function endedOf(on: Queryable, jobIds: readonly string[]): Promise<string[]> {
  return (await on.query<{ job_id: string }>(SELECT_ENDED, [jobIds])).map((row) => row.job_id)
}

/** Only what an announcement needs: parsing the timestamps of a thousand jobs costs more than all the rest. */
export type JobBrief = Pick<Job, 'jobId' | 'kind' | 'state' | 'priority' | 'payload' | 'accountId' | 'traceId'>

/** Of those that exist, in any order. */
export async function getBriefs(on: Queryable, jobIds: readonly string[]): Promise<JobBrief[]> {
  type BriefRow = Pick<JobRow, 'job_id' | 'kind' | 'state' | 'priority' | 'payload' | 'account_id' | 'trace_id'>
  const rows = await on.query<BriefRow>(SELECT_BRIEFS, [jobIds])
  return rows.map(({ job_id: jobId, kind, state, priority, payload, account_id: accountId, trace_id: traceId }) => ({
    jobId,
    kind,
    state,
    priority,
    payload,
    accountId: accountId === null ? null : Number(accountId),
    traceId,
  }))
}

export async function listJobs(on: Queryable, filter: JobFilter): Promise<Job[]> {
  const { kind = null, state = null, before = null, accountId = null, limit } = filter
  const rows = await on.query<JobRow>(LIST_JOBS, [kind, state, before, accountId, limit])
  return rows.map(jobFrom)
}

export interface JobCount {
  kind: string
  state: JobState
  count: number
}

/** Number of jobs by kind and state. `done` jobs are not counted: there may be millions. */
export const countJobs = (on: Queryable): Promise<JobCount[]> => on.query<JobCount>(COUNT_JOBS)

export interface JobRow {
  job_id: string
  kind: string
  state: JobState
  priority: number
  due_at: Date | null
  payload: unknown
  result: unknown
  reason: string | null
  attempt_id: number
  max_attempts: number | null
  lease_owner: string | null
  lease_until: Date | null
  account_id: string | null
  trace_id: string | null
  replay_of: string | null
  submitted_at: Date
  started_at: Date | null
  finished_at: Date | null
}

export const jobFrom = (row: JobRow): Job => ({
  jobId: row.job_id,
  kind: row.kind,
  state: row.state,
  priority: row.priority,
  dueAt: row.due_at,
  payload: row.payload,
  result: row.result,
  reason: row.reason,
  attemptId: row.attempt_id,
  maxAttempts: row.max_attempts,
  leaseOwner: row.state === 'processing' ? row.lease_owner : null,
  lastOwner: row.lease_owner,
  leaseUntil: row.lease_until,
  accountId: row.account_id === null ? null : Number(row.account_id),
  traceId: row.trace_id,
  replayOf: row.replay_of,
  submittedAt: row.submitted_at,
  startedAt: row.started_at,
  finishedAt: row.finished_at,
})
