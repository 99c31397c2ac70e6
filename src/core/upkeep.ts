// Maintenance that every working process runs: makes delayed jobs ready when they are due, and buries jobs that are out of
// attempts. Any number of processes may run it concurrently.
import type { Feed } from './feed/feed.ts'
import { buryJob, type Kinds } from './executor/endings.ts'
import type { Ledger } from './ledger/ledger.ts'
import { HAS_LIVE, hasDueWithin } from './ledger/repair.ts'
import type { Loop, Wake } from './loop.ts'

const BATCH = 500
const PROMOTE_EVERY_MS = 250
/** The check comes once a second: what is due until the next one is waited for here. */
export const DUE_SOON_MS = 1500

export const ATTEMPTS_EXHAUSTED = 'attempts_exhausted'

export interface UpkeepDeps {
  ledger: Ledger
  feed: Feed
  kinds: Kinds
  /** Rings when this process delays a job by a short time. */
  delayed: Wake
  buryEveryMs: number
}

export function upkeepLoops({ ledger, feed, kinds, delayed, buryEveryMs }: UpkeepDeps): Loop[] {
  return [
    {
      name: 'promote-delayed-jobs',
      everyMs: PROMOTE_EVERY_MS,
      wake: delayed,
      isDue: hasDueWithin(DUE_SOON_MS),
      async runOnce(signal) {
        const due = await ledger.promoteDue(BATCH)
        if (due.length > 0) await feed.announce(due)
        if (due.length === BATCH) return true

        const nextMs = await ledger.nextDueMs()
        if (nextMs === null || nextMs > DUE_SOON_MS) return false
        await delayed.wait(nextMs, signal) // another one may be due earlier
        return true
      },
    },
    {
      name: 'bury-exhausted-jobs',
      everyMs: buryEveryMs,
      isDue: HAS_LIVE,
      runOnce: () => buryExhausted(ledger, kinds),
    },
  ]
}

/** Abandoned jobs without attempts left die, with the effects of their door. */
export async function buryExhausted(ledger: Ledger, kinds: Kinds): Promise<boolean> {
  const names = kinds.all().map((kind) => kind.name)
  const found = await ledger.findAbandoned({ kinds: names, exhausted: true })
  await Promise.all(found.map(({ jobId }) => buryJob(ledger, kinds, jobId, ATTEMPTS_EXHAUSTED)))
  return false
}
