import type { ReadyJob } from '../../ledger/repair.ts'

const FIRST_MS = 30_000
const MAX_MS = 600_000
const REMEMBERED_MAX = 50_000

export interface Patience {
  /** Those that may be announced again now. */
  filter<Job extends ReadyJob>(jobs: readonly Job[]): Job[]
  note(jobs: readonly ReadyJob[]): void
  forget(): void
}

/** A job whose entry vanishes again and again is announced less and less often, and never given up. */
export function openPatience(now: () => number = () => performance.now()): Patience {
  const noted = new Map<string, { waitMs: number; until: number }>()
  return {
    filter: (jobs) => jobs.filter(({ jobId }) => (noted.get(jobId)?.until ?? 0) <= now()),
    note(jobs) {
      for (const { jobId } of jobs) {
        const waitMs = Math.min(MAX_MS, (noted.get(jobId)?.waitMs ?? FIRST_MS / 2) * 2)
        noted.delete(jobId) // to the end of the map: the longest forgotten is the first to go
        noted.set(jobId, { waitMs, until: now() + waitMs })
      }
      for (const jobId of noted.keys()) {
        if (noted.size <= REMEMBERED_MAX) break
        noted.delete(jobId)
      }
    },
    forget: () => noted.clear(),
  }
}
