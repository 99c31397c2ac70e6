import type { Logger } from 'pino'
import type { RunContext } from './kind.ts'

/** What an attempt's work is given. The signal is made when somebody asks for it: most work never does, and it costs. */
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
