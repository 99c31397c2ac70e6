import type { Logger } from 'pino'
import type { RunContext } from './kind.ts'

/** The context of one attempt's work. The signal is created on first use: it is costly, and most work never needs it. */
export class Interruption implements RunContext {
  readonly log: Logger
  aborted = false
  #controller: AbortController | null = null

  constructor(log: Logger) {
    this.log = log
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.aborted) this.#controller.abort()
    return this.#controller.signal
  }

  abort(): void {
    this.aborted = true
    this.#controller?.abort()
  }
}
