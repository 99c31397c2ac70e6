// What the server sends, field for field.

export type JobState = 'pending' | 'processing' | 'done' | 'dead'

export interface Job {
  job_id: string
  kind: string
  state: JobState
  priority: number
  /** 0: nobody has begun yet. */
  attempt_id: number
  max_attempts: number | null
  /** Why it is dead. */
  reason: string | null
  account_id: number | null
  lease_owner: string | null
  lease_until: string | null
  trace_id: string | null
  replay_of: string | null
  due_at: string | null
  submitted_at: string
  started_at: string | null
  finished_at: string | null
}

export interface JobDetail extends Job {
  payload: unknown
  result: unknown
  history: JobHistoryEntry[]
}

export interface JobHistoryEntry {
  at: string
  what: string
  attempt_id: number
  owner: string | null
  detail: string | null
}

export interface JobPage {
  jobs: Job[]
  /** `before` of the next page; null: the last one. */
  next_before: string | null
}
