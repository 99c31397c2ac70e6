import type { ReeveClient } from '../client.ts'
import type { Receipt } from './receipts.ts'

export interface NewPoolJob {
  payload: Record<string, unknown>
  /** Higher is sooner, among the jobs of one client. Default 5. */
  priority?: number
  requirements?: { region?: string; specs?: Record<string, unknown> }
  /** How many workers of different owners do it. Default 1. */
  replicas?: number
  /** How many of them must agree. Default: the majority. */
  quorum?: number
  callback_url?: string
  timeout_seconds?: number
  /** Refuse results whose output_hash is not that of their output. */
  require_output_hash?: boolean
  /** How many workers may answer `failed` before the job has failed. Default 1. */
  max_attempts?: number
  /** When two outputs of replicas agree. Default: when their hashes are equal. */
  agree?: PoolAgreeRule
}

export type PoolAgreeRule =
  | { type: 'exact' }
  /** Numbers differ by at most `tolerance`; everything else is equal. */
  | { type: 'numeric'; tolerance: number }
  /** `field`: a JSON pointer, or the name of a top-level member. Defaults: 0.985, `embedding`. */
  | { type: 'cosine'; min?: number; field?: string }

export interface PoolJobPage {
  jobs: { job_id: string; status: PoolJobStatus; priority: number; created_at: string }[]
  /** `before` of the next page; null: the last one. */
  next_before: string | null
}

export type PoolJobStatus = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled' | 'timed_out'

export interface PoolResult {
  assignment_id: number
  worker_id: number
  status: 'completed' | 'failed'
  output: unknown
  output_hash: string | null
  /** Null: there was no output, or no hash. */
  output_hash_matches: boolean | null
  error_message: string | null
  artifact_uri: string | null
  metrics_json: unknown
  finished_at: string
}

export interface PoolJob {
  job_id: string
  status: PoolJobStatus
  priority: number
  replicas: number
  quorum: number
  max_attempts: number
  agree?: PoolAgreeRule
  requirements: { region: string | null; specs: unknown }
  created_at: string
  started_at: string | null
  finished_at: string | null
  error_message: string | null
  result: PoolResult | null
  /** Of a replicated job: the results of its workers so far. */
  votes: {
    assignment_id: number
    worker_id: number
    status: string
    output_hash: string | null
    verdict: string | null
  }[]
}

export interface PoolWhy {
  job_id: string
  status: PoolJobStatus
  reasons: string[]
  workers: { registered: number; banned: number; online: number; in_region: number; with_specs: number; idle: number }
}

export interface PoolWorker {
  id: number
  name: string
  owner_user_id: number
  status: 'online' | 'offline' | 'banned'
  region: string | null
  specs_json: unknown
  public_key: string | null
  last_seen_at: string | null
  /** Only where the owner set it. */
  lease_seconds?: number
  paused?: boolean
}

export interface NewPoolWorker {
  name: string
  region?: string
  specs_json?: Record<string, unknown>
  public_key?: string
  /** For work without heartbeats. */
  lease_seconds?: number
}

export interface PoolWorkerChange {
  name?: string
  region?: string | null
  specs_json?: Record<string, unknown> | null
  lease_seconds?: number | null
  /** A paused worker gets no new assignment. */
  paused?: boolean
}

/** The record and reputation of a worker. */
export interface PoolReputation {
  worker_id: number
  standing: 'probation' | 'trusted' | 'banned'
  /** From 0 to 1, rounded to a tenth. */
  reputation: number
  completed: number
  failed: number
  /** Leases that it let expire. */
  lost: number
  banned_at: string | null
  ban_reason: string | null
}

/** A worker in the messages of the live topic `pool_workers`. */
export interface LivePoolWorker extends PoolReputation {
  status: PoolWorker['status']
  paused: boolean
  last_seen_at: string | null
}

// The server waits this long at most; a longer wait is several requests.
const WAIT_SEC_MAX = 50
const ENDED: readonly string[] = ['completed', 'failed', 'cancelled', 'timed_out']

/** The pool, for clients (role CLIENT) and for owners of workers (role WORKER_OWNER). */
export class PoolClient {
  readonly #client: ReeveClient

  constructor(client: ReeveClient) {
    this.#client = client
  }

  /**
   * With an idempotency key, the same submit may be repeated until it is answered: it creates one job. `payloadText` is the
   * payload as JSON text, instead of `job.payload`, for numbers that JavaScript cannot represent.
   */
  submit(
    job: NewPoolJob,
    options: { idempotencyKey?: string; payloadText?: string } = {},
  ): Promise<{ job_id: string; status: PoolJobStatus }> {
    const { idempotencyKey, payloadText } = options
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
    const content = payloadText === undefined ? { body: job } : { text: withPayload(job, payloadText) }
    return this.#client.request('POST', '/v1/jobs', { ...content, headers })
  }

  /** All of them, or none; at most 100. */
  async submitMany(
    jobs: readonly NewPoolJob[],
    options: { idempotencyKey?: string } = {},
  ): Promise<{ job_id: string; status: PoolJobStatus }[]> {
    const { idempotencyKey } = options
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
    type Batch = { jobs: { job_id: string; status: PoolJobStatus }[] }
    return (await this.#client.request<Batch>('POST', '/v1/jobs/batch', { body: { jobs }, headers })).jobs
  }

  /** Newest first. */
  list(page: { before?: string; limit?: number } = {}): Promise<PoolJobPage> {
    const query = new URLSearchParams()
    if (page.before !== undefined) query.set('before', page.before)
    if (page.limit !== undefined) query.set('limit', String(page.limit))
    return this.#client.request('GET', `/v1/jobs?${query}`)
  }

  get(jobId: string): Promise<PoolJob> {
    return this.#client.request('GET', pathOf(jobId))
  }

  /** The job once it has ended, or as it is when the time is up. */
  async wait(jobId: string, options: { timeoutMs: number; signal?: AbortSignal }): Promise<PoolJob> {
    const deadline = performance.now() + options.timeoutMs
    const signal = options.signal === undefined ? {} : { signal: options.signal }
    for (;;) {
      const leftSec = Math.ceil((deadline - performance.now()) / 1000)
      const headers = { prefer: `wait=${Math.max(1, Math.min(WAIT_SEC_MAX, leftSec))}` }
      const job = await this.#client.request<PoolJob>('GET', pathOf(jobId), { headers, ...signal })
      if (ENDED.includes(job.status) || performance.now() >= deadline) return job
    }
  }

  cancel(jobId: string): Promise<{ job_id: string; status: PoolJobStatus }> {
    return this.#client.request('POST', `${pathOf(jobId)}/cancel`)
  }

  /** What keeps a job waiting. */
  why(jobId: string): Promise<PoolWhy> {
    return this.#client.request('GET', `${pathOf(jobId)}/why`)
  }

  /** One for each result that was accepted for the job. A result has its receipt some moments later. */
  async receipts(jobId: string): Promise<Receipt[]> {
    return (await this.#client.request<{ receipts: Receipt[] }>('GET', `${pathOf(jobId)}/receipts`)).receipts
  }

  /** The public key that receipts are signed with, base64url. Store it: a receipt proves nothing without a key that you trust. */
  async receiptKey(): Promise<string> {
    return (await this.#client.request<{ public_key: string }>('GET', '/v1/receipts/key')).public_key
  }

  async register(worker: NewPoolWorker): Promise<PoolWorker> {
    return seen(await this.#client.request('POST', '/workers/register', { body: worker }))
  }

  async workers(): Promise<PoolWorker[]> {
    const { workers } = await this.#client.request<{ workers: LegacyWorker[] }>('GET', '/workers')
    return workers.map(seen)
  }

  async update(workerId: number, change: PoolWorkerChange): Promise<PoolWorker> {
    return seen(await this.#client.request('PATCH', `/workers/${workerId}`, { body: change }))
  }

  /** Its results and receipts stay. */
  async remove(workerId: number): Promise<void> {
    await this.#client.request('DELETE', `/workers/${workerId}`)
  }

  reputation(workerId: number): Promise<PoolReputation> {
    return this.#client.request('GET', `/workers/${workerId}/reputation`)
  }

  async setKey(workerId: number, publicKey: string): Promise<PoolWorker> {
    return seen(await this.#client.request('PUT', `/workers/${workerId}/key`, { body: { public_key: publicKey } }))
  }
}

/** Older servers send `last_heartbeat_at`. */
type LegacyWorker = Omit<PoolWorker, 'last_seen_at'> & {
  last_seen_at?: string | null
  last_heartbeat_at?: string | null
}

function seen({ last_heartbeat_at: before, last_seen_at: now, ...worker }: LegacyWorker): PoolWorker {
  return { ...worker, last_seen_at: now ?? before ?? null }
}

function withPayload(job: NewPoolJob, payloadText: string): string {
  const rest = JSON.stringify({ ...job, payload: undefined }).slice(1)
  return `{"payload":${payloadText}${rest === '}' ? '' : ','}${rest}`
}

const pathOf = (jobId: string): string => `/v1/jobs/${encodeURIComponent(jobId)}`
