// Jobs whose holder let the lease run out: a loop finds them, and the next free hands take them over.
import type { HandsMetrics } from '../hands/metrics.ts'
import type { Acquired } from '../ledger/job.ts'
import type { Ledger } from '../ledger/ledger.ts'

const FOUND_MAX = 500

export interface Abandoned {
  /** Resolves to the kinds of what was found. */
  find(kinds: readonly string[]): Promise<string[]>
  take(kind: string, limit: number): Promise<Acquired[]>
}

export interface AbandonedOptions {
  ledger: () => Ledger
  owner: string
  leaseMs: number
  metrics?: HandsMetrics
}

export function openAbandoned({ ledger, owner, leaseMs, metrics }: AbandonedOptions): Abandoned {
  const found = new Map<string, Set<string>>()

  /** Each on its own: one that fails must not cost the others their leases. The next pass finds it again. */
  const acquire = async (jobId: string): Promise<Acquired | null> => {
    try {
      const answer = await ledger().acquire({ jobId, owner, leaseMs })
      metrics?.reclaims.inc(answer.ok ? { status: 'ok', reason: '' } : { status: 'rejected', reason: answer.code })
      return answer.ok ? answer.job : null
    } catch {
      metrics?.reclaims.inc({ status: 'error', reason: 'db_error' })
      return null // the take that follows meets the same database, and says what is wrong
    }
  }

  return {
    async find(kinds) {
      const jobs = await ledger().findAbandoned({ kinds, exhausted: false, limit: FOUND_MAX })
      for (const { jobId, kind } of jobs) found.set(kind, (found.get(kind) ?? new Set()).add(jobId))
      return jobs.map((job) => job.kind)
    },

    async take(kind, limit) {
      const jobIds = [...(found.get(kind) ?? [])].slice(0, limit)
      if (jobIds.length === 0) return []
      const started = performance.now()
      metrics?.reclaimsInFlight.inc(jobIds.length)
      jobIds.forEach((jobId) => found.get(kind)?.delete(jobId))
      const answers = await Promise.all(jobIds.map(acquire))
      metrics?.reclaimsInFlight.dec(jobIds.length)
      metrics?.reclaimLatency.observe(performance.now() - started)
      return answers.filter((job) => job !== null)
    },
  }
}
