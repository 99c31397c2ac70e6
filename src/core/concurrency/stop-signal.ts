// Tells those who wait for a request's answer that nobody needs it any more.

/** What a wait uses of an AbortSignal, which is one. */
export interface StopSignal {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void, options?: { once: boolean }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

/**
 * For a signal per request. An AbortController takes 2 µs, and its signal has a hidden class of its own, so that V8 looks up each
 * of its properties anew.
 */
export class RequestStop implements StopSignal {
  aborted = false
  readonly #listeners = new Set<() => void>()

  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.aborted) this.#listeners.add(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener)
  }

  /** Calls each listener, once. */
  abort(): void {
    if (this.aborted) return
    this.aborted = true
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
  }
}
