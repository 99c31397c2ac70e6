// A worker of the pool: polls, runs a handler, renews the lease meanwhile, signs the result and submits it. Errors that may
// pass are retried; an assignment that was cancelled or lost is dropped.
import { setTimeout as sleep } from 'node:timers/promises'
import type { ReeveClient } from '../client.ts'
import { ReeveError } from '../error.ts'
import { memberTexts } from '../member-texts.ts'
import { outputHash, signSubmission, type PrivateKey } from './signing.ts'

const WAIT_SEC = 50
const POLL_PAUSE_MS = 1000 // after a poll that found nothing sooner than it was asked to wait
const RETRY_MS = { first: 500, most: 15_000 }
const SUBMIT_TRIES_MAX = 20
const ANSWER_MS_MAX = 10_000 // to a submit whose assignment was dropped meanwhile
const LEASE_MS_DEFAULT = 30_000
const LEASE_MS_MIN = 600
const DATE_MS = 1000
const BODY_BYTES_MAX = 5 * 1024 * 1024 // the server's limit: it answers a larger body before it has read it, and hangs up
const HEARTBEATS_PER_LEASE = 3

export interface HandlerContext {
  assignmentId: number
  /** The job as JSON text, for numbers that JavaScript cannot represent. */
  text: string
  costHint: number
  /** Aborts when the assignment is cancelled or lost: stop, the result would be refused. */
  signal: AbortSignal
}

export interface HandlerResult {
  output?: Record<string, unknown> | null
  /** Instead of `output`: JSON text of an object. */
  outputText?: string
  /** The job failed. Final, unless the client set `max_attempts` above 1. */
  errorMessage?: string
  artifactUri?: string
  metrics?: Record<string, unknown>
}

export type Handler = (job: unknown, context: HandlerContext) => Promise<HandlerResult>

export type WorkerEvent =
  | { type: 'polling' }
  | { type: 'assigned'; assignmentId: number }
  | { type: 'submitted'; assignmentId: number; status: string; ms: number }
  /** The server did not take the result. */
  | { type: 'refused'; assignmentId: number; message: string }
  /** The assignment was cancelled or lost. */
  | { type: 'cancelled'; assignmentId: number }
  | { type: 'trouble'; message: string }

export interface WorkerOptions {
  client: ReeveClient
  /** Called when the server answers 401 (an expired token). Without it, a 401 ends the worker. */
  login?: () => Promise<ReeveClient>
  workerId: number
  key: PrivateKey
  handler: Handler
  /** Drain: no further poll; the current job is finished. */
  signal: AbortSignal
  /** Stop at once: the current job is dropped. */
  abandon?: AbortSignal
  /** How long a poll waits for a job, in seconds, at most 50. */
  waitSec?: number
  onEvent?: (event: WorkerEvent) => void
}

interface WorkersAssignment {
  assignmentId: number
  text: string
  nonce: string
  costHint: number
  /** By the server's clock; NaN where it does not say. */
  leaseUntil: number
  /** How long that is from now, at least. */
  leaseMs: number
}

/** Resolves once `signal` has aborted and the current job is submitted. Rejects if the server refuses this worker. */
export async function runWorker(options: WorkerOptions): Promise<void> {
  const worker = new WorkerLoop(options)
  while (!options.signal.aborted && options.abandon?.aborted !== true) {
    const assignment = await worker.poll()
    if (assignment !== null) await worker.work(assignment)
  }
}

class WorkerLoop {
  readonly #options: WorkerOptions
  #client: ReeveClient
  #failures = 0

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#client = options.client
  }

  /** Null: nothing this time. */
  async poll(): Promise<WorkersAssignment | null> {
    const { workerId, signal, waitSec = WAIT_SEC } = this.#options
    this.#tell({ type: 'polling' })
    const started = performance.now()
    try {
      const answer = await this.#client.requestText('POST', '/jobs/poll', {
        body: { worker_id: workerId },
        headers: { prefer: `wait=${waitSec}` },
        signal,
      })
      this.#failures = 0
      return assignmentFrom(answer)
    } catch (error) {
      if (signal.aborted) return null
      if (error instanceof ReeveError && error.status === 404 && error.message.includes('No assignment available')) {
        this.#failures = 0
        const isEarly = performance.now() - started < waitSec * 1000 - POLL_PAUSE_MS
        if (isEarly) await pause(POLL_PAUSE_MS, signal)
        return null
      }
      await this.#recover(error, signal)
      return null
    }
  }

  async work(assignment: WorkersAssignment): Promise<void> {
    const { abandon } = this.#options
    const { assignmentId } = assignment
    this.#tell({ type: 'assigned', assignmentId })
    const started = performance.now()
    const dropped = new AbortController()
    const done = new AbortController()
    const drop = () => dropped.abort()
    abandon?.addEventListener('abort', drop)
    const beating = this.#keep(assignment, done.signal, drop)
    try {
      const result = await this.#handle(assignment, dropped.signal)
      if (dropped.signal.aborted) return this.#tell({ type: 'cancelled', assignmentId })
      const status = await this.#submit(assignment, result, dropped.signal)
      if (status !== null) this.#tell({ type: 'submitted', assignmentId, status, ms: performance.now() - started })
    } finally {
      abandon?.removeEventListener('abort', drop)
      done.abort()
      await beating
    }
  }

  async #handle(assignment: WorkersAssignment, signal: AbortSignal): Promise<HandlerResult> {
    const { assignmentId, text, costHint } = assignment
    try {
      const result = await this.#options.handler(JSON.parse(text), { assignmentId, text, costHint, signal })
      checkOutput(outputOf(result))
      checkText(JSON.stringify(result.metrics ?? null))
      return result
    } catch (error) {
      return { errorMessage: error instanceof Error ? error.message : String(error) }
    }
  }

  /** Heartbeats until it is done. A lease that could not be renewed in time is lost. */
  async #keep(
    { assignmentId, leaseMs: guess, leaseUntil }: WorkersAssignment,
    done: AbortSignal,
    drop: () => void,
  ): Promise<void> {
    const started = performance.now()
    let leaseMs = guess
    let leasedUntil = started + leaseMs
    while (!done.aborted) {
      await pause(leaseMs / HEARTBEATS_PER_LEASE, done)
      if (done.aborted) return
      const asked = performance.now()
      try {
        const timeout = AbortSignal.timeout(Math.max(1, Math.ceil(leasedUntil - asked)))
        const beat = await this.#beat(AbortSignal.any([done, timeout]))
        if (beat.cancelled?.includes(assignmentId) === true) return drop()
        // Both by the server's clock: the actual lease instead of an estimate.
        if (leaseMs === guess) leaseMs = leaseUntil - Date.parse(beat.last_seen_at) + (asked - started) || guess
        leasedUntil = asked + leaseMs
      } catch (error) {
        if (done.aborted) return
        this.#tell({ type: 'trouble', message: messageOf(error) })
        if (error instanceof ReeveError && error.status === 401) await this.#relogin(error).catch(() => {})
        if (performance.now() >= leasedUntil) return drop()
      }
    }
  }

  #beat(signal: AbortSignal): Promise<{ last_seen_at: string; cancelled?: number[] }> {
    const body = { worker_id: this.#options.workerId }
    return this.#client.request('POST', '/workers/heartbeat', { body, signal })
  }

  /**
   * Null: refused, or no longer wanted. A try whose answer was lost may have been recorded: only the answer to another one
   * tells, so that an assignment which is then cancelled or lost (`dropped`) does not end the tries.
   */
  async #submit(assignment: WorkersAssignment, result: HandlerResult, dropped: AbortSignal): Promise<string | null> {
    const { assignmentId } = assignment
    const { abandon } = this.#options
    let text = submissionText(this.#options, assignment, result)
    let isReplaced = false
    let isUnknown = false
    const replace = (reason: string) => {
      isReplaced = true
      text = submissionText(this.#options, assignment, { errorMessage: `Result refused. ${reason}` })
    }
    const bytes = Buffer.byteLength(text)
    if (bytes > BODY_BYTES_MAX) replace(`413: The result has ${bytes} bytes, at most ${BODY_BYTES_MAX} are taken.`)
    const isWanted = () => abandon?.aborted !== true && (isUnknown || !dropped.aborted)
    const late = lateAfter(dropped)
    for (let tries = 1; isWanted(); tries += 1) {
      const ended = dropped.aborted ? AbortSignal.timeout(ANSWER_MS_MAX) : late
      const signal = abandon === undefined ? ended : AbortSignal.any([abandon, ended])
      try {
        const { status } = await this.#client.request<{ status: string }>('POST', '/jobs/submit', { text, signal })
        this.#failures = 0
        return status
      } catch (error) {
        if (error instanceof ReeveError && isTooMuch(error) && !isReplaced) {
          // The same result would be refused by the next worker's submit too: the job has failed, with that reason.
          replace(messageOf(error))
          continue
        }
        const isFinal = error instanceof ReeveError && !isPassing(error)
        if (isFinal || tries >= SUBMIT_TRIES_MAX) {
          // The answer to an earlier try was lost: the result is recorded.
          if (tries > 1 && isFinal && error.message.includes('Assignment already submitted')) return 'recorded'
          if (isFinal && error.status === 409 && dropped.aborted) break
          this.#tell({ type: 'refused', assignmentId, message: messageOf(error) })
          return null
        }
        isUnknown ||= !isRefusal(error)
        await this.#recover(error, isUnknown ? abandon : dropped)
      }
    }
    this.#tell({ type: 'cancelled', assignmentId })
    return null
  }

  /** Waits before the next try, longer each time; rejects if a retry cannot succeed. */
  async #recover(error: unknown, signal: AbortSignal | undefined): Promise<void> {
    if (error instanceof ReeveError && error.status === 401) return this.#relogin(error)
    if (error instanceof ReeveError && !isPassing(error)) throw error
    this.#tell({ type: 'trouble', message: messageOf(error) })
    const wait = Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** this.#failures)
    this.#failures += 1
    await pause(wait * (0.75 + Math.random() / 2), signal)
  }

  async #relogin(error: ReeveError): Promise<void> {
    const { login } = this.#options
    if (login === undefined || this.#failures > 2) throw error
    this.#failures += 1
    this.#client = await login()
  }

  #tell(event: WorkerEvent): void {
    this.#options.onEvent?.(event)
  }
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => {})
}

/** An answer that is on its way when the assignment is dropped is waited for; a dead connection is not. */
function lateAfter(dropped: AbortSignal): AbortSignal {
  const late = new AbortController()
  dropped.addEventListener('abort', () => setTimeout(() => late.abort(), ANSWER_MS_MAX).unref())
  return late.signal
}

function assignmentFrom({ text, date }: { text: string; date: Date }): WorkersAssignment {
  const fields: { assignment_id: number; nonce: string; cost_hint_tokens: number; lease_expires_at?: string } =
    JSON.parse(text)
  // The server's Date has no fractions: up to a second of what seems to be left is not.
  const leaseUntil = Date.parse(fields.lease_expires_at ?? '')
  const untilMs = leaseUntil - date.getTime() - DATE_MS
  return {
    assignmentId: fields.assignment_id,
    text: memberTexts(text).get('job') ?? 'null',
    nonce: fields.nonce,
    costHint: fields.cost_hint_tokens,
    leaseUntil,
    leaseMs: Number.isNaN(untilMs) ? LEASE_MS_DEFAULT : Math.max(LEASE_MS_MIN, untilMs),
  }
}

const outputOf = ({ outputText, output = null }: HandlerResult): string => outputText?.trim() ?? JSON.stringify(output)

/** Throws where the server would refuse the output. */
function checkOutput(text: string): void {
  const value: unknown = JSON.parse(text)
  if (value === null) return
  if (typeof value !== 'object' || Array.isArray(value)) throw new TypeError('The output is not a JSON object.')
  checkText(text)
  outputHash(text)
}

/** PostgreSQL cannot store NUL characters. */
function checkText(json: string): void {
  if (!json.includes('\\u0000')) return
  JSON.parse(json, (name, value: unknown) => {
    if (name.includes('\0') || (typeof value === 'string' && value.includes('\0')))
      throw new TypeError('A string in the output contains a NUL character.')
    return value
  })
}

/** The output of a command may contain anything. */
const storable = (text: string | undefined): string | null => text?.toWellFormed().replaceAll('\0', '\uFFFD') ?? null

/** Written by hand, so that the output is sent as the text that was hashed. */
function submissionText(
  { workerId, key }: WorkerOptions,
  assignment: WorkersAssignment,
  result: HandlerResult,
): string {
  const { assignmentId: assignment_id, nonce } = assignment
  const output = outputOf(result)
  const output_hash = output === 'null' ? null : outputHash(output)
  const signature = signSubmission(key, { assignment_id, nonce, output_hash })
  const fields = {
    worker_id: workerId,
    assignment_id,
    nonce,
    signature,
    output_hash,
    error_message: storable(result.errorMessage),
    artifact_uri: storable(result.artifactUri),
    metrics_json: result.metrics ?? null,
  }
  return `${JSON.stringify(fields).slice(0, -1)},"output":${output}}`
}

const isPassing = ({ status, message }: ReeveError): boolean =>
  status === 429 ||
  status === 408 ||
  status >= 500 ||
  (status === 409 && message.includes('Concurrent submission conflict'))

/** The server says that the result is not recorded. After any other error it may be. */
const isRefusal = (error: unknown): boolean => error instanceof ReeveError && error.status < 500 && error.status !== 408

/** A limit of the server: of the body, or of what is in it. */
const isTooMuch = ({ status }: ReeveError): boolean => status === 413 || status === 422

function messageOf(error: unknown): string {
  const { message, cause } = error instanceof Error ? error : { message: String(error), cause: undefined }
  return cause instanceof Error && cause.message !== '' ? `${message}: ${cause.message}` : message
}
