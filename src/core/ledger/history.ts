// The history of a job: every state change, oldest first. The job's row has when it was submitted, when its last attempt
// started and how it ended; earlier attempts have rows of their own. Nothing is stored twice.
import type { Queryable } from '../db/database.ts'
import type { Job } from './job.ts'

const SELECT_ATTEMPTS = `
  select attempt_id, owner, started_at, ended_at, outcome, error from attempts where job_id = $1 order by attempt_id`

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
