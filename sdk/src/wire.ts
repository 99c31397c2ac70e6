// What the server sends, field for field.
import type { Delivery } from './deliveries.ts'
import type { Receipt } from './pool/receipts.ts'

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

export type RelatedJob = Pick<Job, 'job_id' | 'kind' | 'state'>

/** What belongs to a job beside its own row. */
export interface JobContext {
  /** While it has not ended, of kinds that are done in steps. */
  progress: JobProgress | null
  /** Jobs that must end first. */
  waits_for: RelatedJob[]
  /** Jobs that wait for its end. */
  dependents: RelatedJob[]
  replayed_as: RelatedJob | null
  /** Of the results of a pool job. */
  receipts: Receipt[]
  /** Signed requests that it caused. */
  deliveries: Pick<Delivery, 'delivery_id' | 'topic' | 'status' | 'attempts'>[]
}

export interface JobProgress {
  done: number
  /** Null: not known yet. */
  total: number | null
  /** What is counted: tests, results, ticks. */
  unit: string
}

export interface JobPage {
  jobs: Job[]
  /** `before` of the next page; null: the last one. */
  next_before: string | null
}
