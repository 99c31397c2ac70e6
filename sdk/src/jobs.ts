import type { ReeveClient } from './client.ts'
import type { JobDetail, JobPage, JobState } from './wire.ts'

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

export interface ListJobs {
  kind?: string
  state?: JobState
  before?: string
  limit?: number
}

// The server waits this long at most; a longer wait is several requests.
const WAIT_SEC_MAX = 50

/** Any job of any kind. Needs an account with the role ADMIN. */
export class JobsClient {
  readonly #client: ReeveClient

  constructor(client: ReeveClient) {
    this.#client = client
  }

  /** With a key, the same submit may be repeated until it is answered: it names one job. */
  submit(job: NewJob, options: { idempotencyKey?: string } = {}): Promise<SubmittedJob> {
    const { idempotencyKey } = options
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
    return this.#client.request('POST', '/admin/jobs', { body: job, headers })
  }

  get(jobId: string): Promise<JobDetail> {
    return this.#client.request('GET', pathOf(jobId))
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

  list(filter: ListJobs = {}): Promise<JobPage> {
    return this.#client.request('GET', '/admin/jobs', { query: { ...filter } })
  }

  cancel(jobId: string, reason?: string): Promise<SubmittedJob> {
    return this.#client.request('POST', `${pathOf(jobId)}/cancel`, { body: reason === undefined ? {} : { reason } })
  }

  /** A dead job again, as a new one. Asking twice names the same new job. */
  replay(jobId: string): Promise<SubmittedJob> {
    return this.#client.request('POST', `${pathOf(jobId)}/replay`)
  }
}

const pathOf = (jobId: string): string => `/admin/jobs/${encodeURIComponent(jobId)}`
