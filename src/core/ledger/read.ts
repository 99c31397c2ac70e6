// Queries. They change nothing and lock nothing.
import type { Queryable } from '../db/database.ts'
import type { Job, JobState } from './job.ts'

/** SQL: what `jobFrom` reads. */
export const COLUMNS_OF_JOB = `job_id, kind, state, priority, due_at, payload, result, reason, attempt_id, max_attempts, lease_owner,
         lease_until, account_id, trace_id, replay_of, submitted_at, started_at, finished_at`

const SELECT_JOBS = `select ${COLUMNS_OF_JOB} from jobs where job_id = any($1::uuid[])`

const SELECT_BRIEFS = `
  select job_id, kind, state, priority, payload, account_id, trace_id from jobs where job_id = any($1::uuid[])`

const SELECT_ENDED = `
  select asked.job_id from unnest($1::uuid[]) as asked (job_id)
    left join jobs on jobs.job_id = asked.job_id
   where jobs.job_id is null or jobs.finished_at is not null`

const SELECT_RESULTS = `select job_id, result from jobs where job_id = any($1::uuid[]) and state = 'done'`

const SELECT_REPLAYS = `select replay_of, job_id from jobs where replay_of = any($1::uuid[])`

// Each part has the condition of an index: without that the statement would walk past all jobs that are done.
const COUNT_JOBS = `
  select kind, state, count(*)::integer as count from (
    select kind, state from jobs where finished_at is null and due_at is null
     union all
    select kind, state from jobs where due_at is not null
  ) as live group by kind, state
   union all
  select kind, 'dead', count(*)::integer from jobs where reason is not null group by kind`

export const JOB_STATES = ['pending', 'processing', 'done', 'dead'] as const satisfies readonly JobState[]

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

/** Of those that are done. */
export async function resultsOf(on: Queryable, jobIds: readonly string[]): Promise<Map<string, unknown>> {
  const rows = await on.query<Pick<JobRow, 'job_id' | 'result'>>(SELECT_RESULTS, [jobIds])
  return new Map(rows.map((row) => [row.job_id, row.result]))
}

/** The job that each of them was submitted again as. */
export async function replaysOf(on: Queryable, jobIds: readonly string[]): Promise<Map<string, string>> {
  const rows = await on.query<{ replay_of: string; job_id: string }>(SELECT_REPLAYS, [jobIds])
  return new Map(rows.map((row) => [row.replay_of, row.job_id]))
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
