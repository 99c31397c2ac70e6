// Whose turn it is to search for jobs of a kind. Several busy processes that search at the same time meet each other's rows, and to find
// a row locked costs as much as to take it: with eight of them, more than all acquires of one. So they search one after the other
// (`inTurn` of ledger/acquire.ts), for as long as they hear of each other. A process that is alone has no turns.
import { setTimeout as sleep } from 'node:timers/promises'

/** So long after another process has told that it took several jobs. */
const BUSY_MS = 500
const PAUSE_MS = 20
/** A process that stands still in the middle of its search must not keep the others from theirs. */
const WAIT_MS_MAX = 200

export class Turn {
  readonly #now: () => number
  #othersTookAt = -Infinity
  #waitsSince: number | null = null

  constructor(now: () => number) {
    this.#now = now
  }

  othersTook(): void {
    this.#othersTookAt = this.#now()
  }

  /** Whether to search only if no other process does. */
  get isAwaited(): boolean {
    const now = this.#now()
    return now - this.#othersTookAt < BUSY_MS && now - (this.#waitsSince ?? now) < WAIT_MS_MAX
  }

  /** It was another one's. Hints do not end the pause: what they announce may be taken in that turn. */
  async pause(signal: AbortSignal): Promise<void> {
    this.#waitsSince ??= this.#now()
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => {}) // only rejects on abort
  }

  had(): void {
    this.#waitsSince = null
  }
}
