// How late ticks are, as a client sees it: the time since the tick before, less the interval. In steps of a tenth of a
// millisecond, up to a second.

const STEP_MS = 0.1
const STEPS = 10_000

export class GapHistogram {
  readonly #counts = new Uint32Array(STEPS + 1)
  #total = 0

  add(lateMs: number): void {
    const step = lateMs <= 0 ? 0 : Math.min(STEPS, Math.ceil(lateMs / STEP_MS))
    this.#counts[step] = (this.#counts[step] ?? 0) + 1
    this.#total += 1
  }

  get total(): number {
    return this.#total
  }

  percentile(rank: number): number {
    const wanted = (rank / 100) * this.#total
    let seen = 0
    for (let step = 0; step <= STEPS; step += 1) {
      seen += this.#counts[step] ?? 0
      if (seen >= wanted) return step * STEP_MS
    }
    return STEPS * STEP_MS
  }

  clear(): void {
    this.#counts.fill(0)
    this.#total = 0
  }
}
