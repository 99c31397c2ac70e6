export type JobState = 'pending' | 'processing' | 'done' | 'dead'

/** The right to work on a job: valid for one attempt and one owner, until the lease expires. */
export interface Held {
  jobId: string
  attemptId: number
  owner: string
}

/** A job that was just acquired, with everything its executor needs. */
export interface Acquired extends Held {
  kind: string
  payload: unknown
  priority: number
  accountId: number | null
  traceId: string | null
  /** An earlier holder's lease expired. */
  wasAbandoned: boolean
}

export interface Job {
  jobId: string
  kind: string
  state: JobState
  priority: number
  dueAt: Date | null
  payload: unknown
  result: unknown
  reason: string | null
  attemptId: number
  maxAttempts: number | null
  /** Null unless it is processing. */
  leaseOwner: string | null
  /** Owner of the latest attempt. */
  lastOwner: string | null
  leaseUntil: Date | null
  accountId: number | null
  traceId: string | null
  replayOf: string | null
  submittedAt: Date
  startedAt: Date | null
  finishedAt: Date | null
}

export const JOB_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** In lower case, as the database writes it. Null: not a valid id. */
export function parseJobId(text: string): string | null {
  const jobId = text.toLowerCase()
  return JOB_ID.test(jobId) ? jobId : null
}

const MS_MAX = 2 ** 48 - 1

/** The least id of a job that was submitted at that moment: ids begin with 48 bits of milliseconds. */
export function firstIdAt(ms: number): string {
  const hex = Math.min(MS_MAX, Math.max(0, Math.floor(ms)))
    .toString(16)
    .padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}
