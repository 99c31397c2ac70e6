import { Overloaded } from '../values/outcome.ts'

export interface SemaphoreOptions {
  /** How many may hold a permit at once. */
  permits: number
  /** How many more may wait for one. Default: no limit, for callers that are bounded elsewhere. */
  waitingMax?: number
  /** Message of the error that the next caller gets. */
  overloaded?: string
}

/** Limits how much runs at once. Waiting callers get their permit in the order in which they asked. */
export class Semaphore {
  readonly #options: Required<SemaphoreOptions>
  readonly #waiting: (() => void)[] = []
  #held = 0

  constructor(options: SemaphoreOptions) {
    this.#options = { waitingMax: Infinity, overloaded: 'Too many requests are waiting.', ...options }
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    await this.acquire()
    try {
      return await work()
    } finally {
      this.release()
    }
  }

  async acquire(): Promise<void> {
    const { permits, waitingMax, overloaded } = this.#options
    if (this.#held < permits) {
      this.#held += 1
      return
    }
    if (this.#waiting.length >= waitingMax) throw new Overloaded(overloaded)
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** The permit goes to the next caller, if one waits. */
  release(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#held -= 1
    else next()
  }
}
