import type { Logger } from 'pino'

/** What a process has opened, closed in reverse order. A part that fails to close is logged, and the others still close. */
export class CloseStack {
  readonly #log: Logger
  readonly #parts: { name: string; close: () => void | Promise<void> }[] = []
  #closing: Promise<void> | null = null

  constructor(log: Logger) {
    this.#log = log
  }

  push(name: string, close: () => void | Promise<void>): void {
    this.#parts.push({ name, close })
  }

  /** Resolves when every part has settled. May be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll()
    return this.#closing
  }

  async #closeAll(): Promise<void> {
    for (const { name, close } of this.#parts.toReversed()) {
      try {
        await close()
      } catch (error) {
        this.#log.error({ err: error, part: name }, 'close failed')
      }
    }
  }
}
