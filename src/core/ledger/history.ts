// The history of a job: every state change, oldest first. The job's row has when it was submitted, when its last attempt
// started and how it ended; earlier attempts have rows of their own. Nothing is stored twice.
import type { Queryable } from '../db/database.ts'
import type { Job } from './job.ts'

const SELECT_ATTEMPTS = `
  select attempt_id, owner, started_at, ended_at, outcome, error from attempts where job_id = $1 order by attempt_id`

// Of a job that was given back very often, the newest attempts.
const SELECT_ENDED = `
  select job_id, kind, state, reason, attempt_id, lease_owner, account_id, trace_id, replay_of, submitted_at, started_at,
         finished_at,
         array(select row_to_json(a) from (
           select attempt_id, owner, started_at, ended_at, outcome, error from attempts
            where attempts.job_id = jobs.job_id order by attempt_id desc limit 100) as a) as attempts
    from jobs where job_id = any($1::uuid[]) and finished_at is not null`

export interface HistoryEntry {
  at: Date
  what: 'submitted' | 'acquired' | 'failed' | 'released' | 'lease_expired' | 'done' | 'dead'
  attemptId: number
  owner: string | null
  detail: string | null
}

interface AttemptRow {
  attempt_id: number
  owner: string
  started_at: Date
  ended_at: Date
  outcome: 'failed' | 'released' | 'lease_expired'
  error: string | null
}

/** A job that is done or dead. */
export interface EndedJob {
  jobId: string
  kind: string
  state: 'done' | 'dead'
  reason: string | null
  attemptId: number
  accountId: number | null
  traceId: string | null
  replayOf: string | null
  submittedAt: Date
  finishedAt: Date
  attempts: readonly EndedAttempt[]
}

export interface EndedAttempt {
  attemptId: number
  owner: string | null
  startedAt: Date
  endedAt: Date
  outcome: AttemptRow['outcome'] | 'done' | 'dead'
  error: string | null
}

export async function historyOf(on: Queryable, job: Job): Promise<HistoryEntry[]> {
  const attempts = await on.query<AttemptRow>(SELECT_ATTEMPTS, [job.jobId])

  const entries: HistoryEntry[] = [entry(job.submittedAt, 'submitted', 0, null, job.replayOf)]
  for (const attempt of attempts) {
    const { attempt_id: attemptId, owner } = attempt
    entries.push(entry(attempt.started_at, 'acquired', attemptId, owner, null))
    entries.push(entry(attempt.ended_at, attempt.outcome, attemptId, owner, attempt.error))
  }
  const lastHasRow = attempts.at(-1)?.attempt_id === job.attemptId
  if (job.startedAt !== null && !lastHasRow) {
    entries.push(entry(job.startedAt, 'acquired', job.attemptId, job.lastOwner, null))
  }
  if (job.finishedAt !== null) {
    entries.push(
      entry(job.finishedAt, job.state === 'done' ? 'done' : 'dead', job.attemptId, job.lastOwner, job.reason),
    )
  }
  return entries
}

const entry = (
  at: Date,
  what: HistoryEntry['what'],
  attemptId: number,
  owner: string | null,
  detail: string | null,
): HistoryEntry => ({ at, what, attemptId, owner, detail })

interface EndedJobRow {
  job_id: string
  kind: string
  state: 'done' | 'dead'
  reason: string | null
  attempt_id: number
  lease_owner: string | null
  account_id: string | null
  trace_id: string | null
  replay_of: string | null
  submitted_at: Date
  started_at: Date | null
  finished_at: Date
  /** As JSON: times are texts. */
  attempts: readonly (Omit<AttemptRow, 'started_at' | 'ended_at'> & { started_at: string; ended_at: string })[]
}

export async function endedJobs(on: Queryable, jobIds: readonly string[]): Promise<EndedJob[]> {
  return (await on.query<EndedJobRow>(SELECT_ENDED, [jobIds])).map((row) => ({
    jobId: row.job_id,
    kind: row.kind,
    state: row.state,
    reason: row.reason,
    attemptId: row.attempt_id,
    accountId: row.account_id === null ? null : Number(row.account_id),
    traceId: row.trace_id,
    replayOf: row.replay_of,
    submittedAt: row.submitted_at,
    finishedAt: row.finished_at,
    attempts: attemptsOf(row),
  }))
}

/** The last one has a row of its own only if it did not end the job. */
function attemptsOf(row: EndedJobRow): EndedAttempt[] {
  const stored = row.attempts.map((one) => ({
    attemptId: one.attempt_id,
    owner: one.owner,
    startedAt: new Date(one.started_at),
    endedAt: new Date(one.ended_at),
    outcome: one.outcome,
    error: one.error,
  }))
  const { started_at: startedAt, attempt_id: attemptId, lease_owner: owner } = row
  if (startedAt === null || stored.some((one) => one.attemptId === attemptId)) return stored
  return [...stored, { attemptId, owner, startedAt, endedAt: row.finished_at, outcome: row.state, error: row.reason }]
}
