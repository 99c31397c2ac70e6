import type { Logger } from 'pino'
import type { RunContext } from './kind.ts'

/** An abort controller made when somebody asks for its signal: most work never does, and making one costs microseconds. */
export class Interruption {
  aborted = false
  #controller: AbortController | null = null

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.aborted) this.#controller.abort()
    return this.#controller.signal
  }

  abort(): void {
    this.aborted = true
    this.#controller?.abort()
  }

  /** What the work is given. */
  context(log: Logger): RunContext {
    const signal = () => this.signal
    return {
      log,
      get signal() {
        return signal()
      },
    }
  }
}
