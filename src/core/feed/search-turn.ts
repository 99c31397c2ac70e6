// Whose turn it is to search for jobs of a kind. Where several busy processes search at the same time, each of them finds rows that another
// one has just locked, and to find a row locked costs as much as to take it. So they search one after the other (`exclusively` of
// ledger/acquire.ts), for as long as they hear of each other. A process that is alone has no turns.
import { setTimeout as sleep } from 'node:timers/promises'

/** So long after another process has told that it took several jobs. */
const BUSY_MS = 500
const PAUSE_MS = 20
/**
 * A process that stands still in the middle of its search must not keep the others from theirs: after so long they search beside it. Eight
 * busy processes may wait for some hundred milliseconds.
 */
const WAIT_MS_MAX = 1000

export class SearchTurn {
  readonly #now: () => number
  #othersTookAt = -Infinity
  #waitsSince: number | null = null
  #isFreeUntil = -Infinity

  constructor(now: () => number) {
    this.#now = now
  }

  othersTook(): void {
    this.#othersTookAt = this.#now()
  }

  /** Whether to search only if no other process does. */
  get isAwaited(): boolean {
    const now = this.#now()
    const areOthersBusy = now - this.#othersTookAt < BUSY_MS
    return areOthersBusy && now >= this.#isFreeUntil && now - (this.#waitsSince ?? now) < WAIT_MS_MAX
  }

  /** Before the next look whether it is still the turn of another one. Hints do not end it: what they announce may be taken in that turn. */
  async pause(signal: AbortSignal): Promise<void> {
    this.#waitsSince ??= this.#now()
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => {}) // only rejects on abort
  }

  /** After a search. */
  searched(): void {
    const now = this.#now()
    if (now - (this.#waitsSince ?? now) >= WAIT_MS_MAX) this.#isFreeUntil = now + BUSY_MS
    this.#waitsSince = null
  }
}
