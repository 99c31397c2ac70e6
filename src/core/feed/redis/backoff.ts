import type { ReadyJob } from '../../ledger/repair.ts'

const MAX_MS = 600_000
const JOBS_MAX = 50_000

/** A job whose entry vanishes again and again is announced less and less often, but never given up. */
export function openBackoff(firstMs: number) {
  const now = () => performance.now()
  const noted = new Map<string, { waitMs: number; until: number }>()
  return {
    /** Those that may be announced again now. */
    filter: <Job extends ReadyJob>(jobs: readonly Job[]): Job[] =>
      jobs.filter(({ jobId }) => (noted.get(jobId)?.until ?? 0) <= now()),
    note(jobs: readonly ReadyJob[]) {
      for (const { jobId } of jobs) {
        const waitMs = Math.min(MAX_MS, (noted.get(jobId)?.waitMs ?? firstMs / 2) * 2)
        noted.delete(jobId) // moves to the end of the map: the oldest are deleted first
        noted.set(jobId, { waitMs, until: now() + waitMs })
      }
      for (const jobId of noted.keys()) {
        if (noted.size <= JOBS_MAX) break
        noted.delete(jobId)
      }
    },
    clear: () => noted.clear(),
  }
}
