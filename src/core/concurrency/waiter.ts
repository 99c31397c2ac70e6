import type { StopSignal } from './stop-signal.ts'

/** When to stop waiting. An infinite time-out sets no timer. */
export interface WaitLimits {
  timeoutMs: number
  signal?: StopSignal | undefined
}

export interface WaiterOptions<Answer> extends WaitLimits {
  /** The answer when the time is up or the signal aborts. What it throws rejects the wait. */
  onTimeout(): Answer | Promise<Answer>
  /** Called once, before the answer is known to the caller: take the waiter off its list here. */
  onLeave?: () => void
}

/** One caller that waits for an answer from elsewhere, for a limited time. The first answer counts. */
export class Waiter<Answer> {
  readonly answer: Promise<Answer>
  readonly #options: WaiterOptions<Answer>
  readonly #timer: NodeJS.Timeout | undefined
  readonly #giveUp = (): void => this.#timeOut()
  #resolve: (answer: Answer | Promise<Answer>) => void = () => {}
  #reject: (error: unknown) => void = () => {}
  #hasLeft = false

  constructor(options: WaiterOptions<Answer>) {
    const { timeoutMs, signal } = options
    this.#options = options
    this.answer = new Promise<Answer>((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    if (timeoutMs !== Infinity) this.#timer = setTimeout(this.#giveUp, timeoutMs)
    signal?.addEventListener('abort', this.#giveUp)
    if (signal?.aborted === true) this.#giveUp()
  }

  get hasLeft(): boolean {
    return this.#hasLeft
  }

  resolve(answer: Answer | Promise<Answer>): void {
    if (this.#leave()) this.#resolve(answer)
  }

  reject(error: unknown): void {
    if (this.#leave()) this.#reject(error)
  }

  #timeOut(): void {
    if (!this.#leave()) return
    try {
      this.#resolve(this.#options.onTimeout())
    } catch (error) {
      this.#reject(error)
    }
  }

  /** False: it has left before. */
  #leave(): boolean {
    if (this.#hasLeft) return false
    this.#hasLeft = true
    clearTimeout(this.#timer)
    this.#options.signal?.removeEventListener('abort', this.#giveUp)
    this.#options.onLeave?.()
    return true
  }
}

/** The result of `work`, or an error when it takes longer than `ms`. The work itself goes on. */
export function withTimeout<Result>(work: Promise<Result>, ms: number, message: string): Promise<Result> {
  const waiter = new Waiter<Result>({
    timeoutMs: ms,
    onTimeout() {
      throw new Error(message)
    },
  })
  work.then(
    (result) => waiter.resolve(result),
    (error: unknown) => waiter.reject(error),
  )
  return waiter.answer
}
