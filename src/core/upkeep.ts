// Maintenance that every working process runs: makes delayed jobs ready when they are due, and buries jobs that are out of
// attempts. Any number of processes may run it concurrently.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Feed } from './feed/feed.ts'
import { buryJob, type Kinds } from './executor/endings.ts'
import type { Ledger } from './ledger/ledger.ts'
import type { Loop } from './loop.ts'

const BATCH = 500
const PROMOTE_EVERY_MS = 250

export const ATTEMPTS_EXHAUSTED = 'attempts_exhausted'

export interface UpkeepDeps {
  ledger: Ledger
  feed: Feed
  kinds: Kinds
  buryEveryMs: number
}

export function upkeepLoops({ ledger, feed, kinds, buryEveryMs }: UpkeepDeps): Loop[] {
  return [
    {
      name: 'promote-delayed-jobs',
      everyMs: PROMOTE_EVERY_MS,
      async runOnce(signal) {
        const due = await ledger.promoteDue(BATCH)
        if (due.length > 0) await feed.announce(due)
        if (due.length === BATCH) return true

        const nextMs = await ledger.nextDueMs()
        if (nextMs === null || nextMs > PROMOTE_EVERY_MS) return false
        await sleep(nextMs, undefined, { signal }).catch(() => {})
        return true
      },
    },
    { name: 'bury-exhausted-jobs', everyMs: buryEveryMs, runOnce: () => buryExhausted(ledger, kinds) },
  ]
}

/** Abandoned jobs without attempts left die, with the effects of their door. */
export async function buryExhausted(ledger: Ledger, kinds: Kinds): Promise<boolean> {
  const names = kinds.all().map((kind) => kind.name)
  const found = await ledger.findAbandoned({ kinds: names, exhausted: true })
  await Promise.all(found.map(({ jobId }) => buryJob(ledger, kinds, jobId, ATTEMPTS_EXHAUSTED)))
  return false
}
