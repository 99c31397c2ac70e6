// The messages of one client, handled at a bounded rate. What comes faster waits in a bounded queue instead of in the
// connection: pongs are behind it there, and a client that reads would be taken for one that does not. What finds no room
// is dropped, and the client is told so.
import { Timed, type Wheel } from '../engine/wheel.ts'

const MESSAGES_PER_SECOND = 200
const MESSAGES_AT_ONCE = 400
const QUEUED_MESSAGES_MAX = 1000
const QUEUED_BYTES_MAX = 128 * 1024
const DRAIN_EVERY_MS = 50

/** Null: a binary message, which is refused whatever it says. */
export type Incoming = Buffer | null

export interface PacedInputOptions {
  wheel: Wheel
  handle(message: Incoming): void
}

export class PacedInput extends Timed {
  readonly #options: PacedInputOptions
  readonly #rate: Allowance
  #queue: Incoming[] = []
  #queuedBytes = 0
  #isStopped = false

  constructor(options: PacedInputOptions) {
    super()
    this.#options = options
    const limits = { perSecond: MESSAGES_PER_SECOND, atOnce: MESSAGES_AT_ONCE }
    this.#rate = new Allowance(limits, options.wheel.now())
  }

  /** A message would be handled at once. Whoever handles it instead calls `spend`. */
  isFree(now: number): boolean {
    return this.#queue.length === 0 && !this.#isStopped && this.#rate.has(now)
  }

  spend(): void {
    this.#rate.spend(1)
  }

  /** False: there is no room for it. */
  take(message: Incoming): boolean {
    if (this.#isStopped) return true
    const now = this.#options.wheel.now()
    if (this.isFree(now)) {
      this.spend()
      this.#options.handle(message)
      return true
    }
    const bytes = message?.length ?? 0
    if (this.#queue.length >= QUEUED_MESSAGES_MAX || this.#queuedBytes + bytes > QUEUED_BYTES_MAX) return false
    this.#queue.push(message)
    this.#queuedBytes += bytes
    if (this.#queue.length === 1) this.#options.wheel.addAt(this, now + DRAIN_EVERY_MS)
    return true
  }

  /** Handles what has become due. */
  override run(now: number): void {
    let count = 0
    while (!this.#isStopped && count < this.#queue.length && this.#rate.has(now)) {
      const message = this.#queue[count] ?? null
      count += 1
      this.#rate.spend(1)
      this.#queuedBytes -= message?.length ?? 0
      this.#options.handle(message)
    }
    this.#queue = this.#queue.slice(count)
    if (!this.#isStopped && this.#queue.length > 0) this.#options.wheel.addAt(this, now + DRAIN_EVERY_MS)
  }

  /** The connection is closing: nothing more is handled. */
  stop(): void {
    this.#isStopped = true
    this.#queue = []
  }
}

/** A token bucket. It may be overdrawn; `debtMs` says for how long it then stays empty. */
export class Allowance {
  readonly #perSecond: number
  readonly #atOnce: number
  #left: number
  #atMs: number

  constructor({ perSecond, atOnce }: { perSecond: number; atOnce: number }, nowMs: number) {
    this.#perSecond = perSecond
    this.#atOnce = atOnce
    this.#left = atOnce
    this.#atMs = nowMs
  }

  has(nowMs: number): boolean {
    this.#left = Math.min(this.#atOnce, this.#left + ((nowMs - this.#atMs) * this.#perSecond) / 1000)
    this.#atMs = nowMs
    return this.#left >= 1
  }

  spend(cost: number): void {
    this.#left -= cost
  }

  get debtMs(): number {
    return Math.max(0, ((1 - this.#left) * 1000) / this.#perSecond)
  }
}
