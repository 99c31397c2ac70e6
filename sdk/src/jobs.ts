import type { ReeveClient } from './client.ts'
import type { JobContext, JobDetail, JobPage, JobState } from './wire.ts'

export interface NewJob {
  kind: string
  payload: unknown
  priority?: number
  delay_ms?: number
  max_attempts?: number
}

export interface SubmittedJob {
  job_id: string
  state: JobState
}

export interface JobFilter {
  kind?: string
  state?: JobState
  account_id?: number
  /** Who holds or held it. */
  owner?: string
  trace_id?: string
  /** A part of the reason of a dead job. */
  reason?: string
  priority?: number
  /** Waits for its time or for its next attempt. */
  delayed?: boolean
  submitted_after?: string
  submitted_before?: string
  /** Only jobs older than this one. */
  before?: string
}

export interface ListJobs extends JobFilter {
  limit?: number
}

export interface BulkProgress {
  done: number
  /** Had ended already, or cannot be replayed. */
  refused: number
}

export interface BulkOptions {
  /** Of a cancel. */
  reason?: string
  onProgress?: (progress: BulkProgress) => void
  /** Stops between two pages; what is done stays done. */
  signal?: AbortSignal
}

// The server waits this long at most; a longer wait is several requests.
const WAIT_SEC_MAX = 50

/** Any job of any kind. Needs an account with the role ADMIN. */
export class JobsClient {
  readonly #client: ReeveClient

  constructor(client: ReeveClient) {
    this.#client = client
  }

  /** With an idempotency key, the same submit may be repeated until it is answered: it creates one job. */
  submit(job: NewJob, options: { idempotencyKey?: string } = {}): Promise<SubmittedJob> {
    const { idempotencyKey } = options
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
    return this.#client.request('POST', '/admin/jobs', { body: job, headers })
  }

  get(jobId: string): Promise<JobDetail> {
    return this.#client.request('GET', pathOf(jobId))
  }

  /** How far it is, what it waits for and what waits for it, receipts, deliveries. */
  context(jobId: string): Promise<JobContext> {
    return this.#client.request('GET', `${pathOf(jobId)}/context`)
  }

  /** The job once it is done or dead, or as it is when the time is up. */
  async wait(jobId: string, options: { timeoutMs: number; signal?: AbortSignal }): Promise<JobDetail> {
    const deadline = performance.now() + options.timeoutMs
    const signal = options.signal === undefined ? {} : { signal: options.signal }
    for (;;) {
      const leftSec = Math.ceil((deadline - performance.now()) / 1000)
      const headers = { prefer: `wait=${Math.max(1, Math.min(WAIT_SEC_MAX, leftSec))}` }
      const job = await this.#client.request<JobDetail>('GET', pathOf(jobId), { headers, ...signal })
      if (job.state === 'done' || job.state === 'dead' || performance.now() >= deadline) return job
    }
  }

  /** Newest first. A page may be short although there are more: `next_before` says. */
  list(filter: ListJobs = {}): Promise<JobPage> {
    return this.#client.request('GET', '/admin/jobs', { query: queryOf(filter) })
  }

  /** Exact up to 10,000; `exact` is false where there are more, or may be. */
  count(filter: JobFilter = {}): Promise<{ count: number; exact: boolean }> {
    return this.#client.request('GET', '/admin/jobs/count', { query: queryOf(filter) })
  }

  /** Cancels or replays every job that matches, page by page. */
  async bulk(action: 'cancel' | 'replay', filter: JobFilter, options: BulkOptions = {}): Promise<BulkProgress> {
    const { reason, onProgress, signal } = options
    const progress: BulkProgress = { done: 0, refused: 0 }
    let before: string | null = filter.before ?? null
    for (;;) {
      const body = {
        action,
        filter: { ...filter, ...(before === null ? {} : { before }) },
        ...(reason === undefined ? {} : { reason }),
      }
      type Page = BulkProgress & { next_before: string | null }
      const page: Page = await this.#client.request('POST', '/admin/jobs/bulk', { body })
      progress.done += page.done
      progress.refused += page.refused
      before = page.next_before
      onProgress?.({ ...progress })
      if (before === null || signal?.aborted === true) return progress
    }
  }

  cancel(jobId: string, reason?: string): Promise<SubmittedJob> {
    return this.#client.request('POST', `${pathOf(jobId)}/cancel`, { body: reason === undefined ? {} : { reason } })
  }

  /** Submits a dead job again as a new one. A repeated call returns the same new job. */
  replay(jobId: string): Promise<SubmittedJob> {
    return this.#client.request('POST', `${pathOf(jobId)}/replay`)
  }
}

const pathOf = (jobId: string): string => `/admin/jobs/${encodeURIComponent(jobId)}`

const queryOf = ({ delayed, ...rest }: ListJobs): Record<string, string | number | undefined> => ({
  ...rest,
  ...(delayed === undefined ? {} : { delayed: String(delayed) }),
})
