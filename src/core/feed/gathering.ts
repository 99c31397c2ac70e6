// A round (a read, an acquire, an announcement) costs nearly the same for one job as for twenty. So while jobs come several at a time,
// the next round waits until more have gathered. A job that comes alone does not wait.
import { setTimeout as sleep } from 'node:timers/promises'

const SEVERAL = 4

export class Gathering {
  readonly #ms: number
  #nextAt = 0

  constructor(ms: number) {
    this.#ms = ms
  }

  /** Before a round. */
  async wait(signal?: AbortSignal): Promise<void> {
    const waitMs = this.#nextAt - performance.now()
    if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => {}) // only rejects on abort
  }

  /** After a round of so many jobs. A full round left more behind: the next one need not wait. */
  note(jobs: number, limit: number): void {
    if (jobs >= SEVERAL && jobs < limit) this.#nextAt = performance.now() + this.#ms
  }
}
