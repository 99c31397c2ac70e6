// Maintenance that every working process runs: makes delayed jobs ready when they are due, buries jobs that are out of
// attempts, and prunes old keys and events. Any number of processes may run it concurrently.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Events } from './events/events.ts'
import type { Feed } from './feed/feed.ts'
import { buryJob, type Kinds } from './executor/endings.ts'
import type { Ledger } from './ledger/ledger.ts'
import type { Loop } from './loop.ts'

const BATCH = 500
const PROMOTE_EVERY_MS = 250
const CLEAN_EVERY_MS = 600_000
const CLEAN_BATCH = 10_000
const EVENTS_KEPT_HOURS = 72

export const ATTEMPTS_EXHAUSTED = 'attempts_exhausted'

export interface UpkeepDeps {
  ledger: Ledger
  feed: Feed
  events: Events
  kinds: Kinds
  buryEveryMs: number
}

export function upkeepLoops({ ledger, feed, events, kinds, buryEveryMs }: UpkeepDeps): Loop[] {
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
    {
      name: 'prune-keys-and-events',
      everyMs: CLEAN_EVERY_MS,
      async runOnce() {
        await ledger.deleteOldKeys(CLEAN_BATCH)
        await events.deleteOld(EVENTS_KEPT_HOURS, CLEAN_BATCH)
        return false
      },
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
