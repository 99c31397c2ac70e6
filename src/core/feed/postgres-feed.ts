// PostgreSQL as the feed: the live rows are the queue (`for update skip locked`), a hint on the bus ends the wait. There is
// nothing to acknowledge and nothing to lose: a hint that did not arrive costs one second, and so does the end of a lease,
// which nobody announces.
import type { Bus } from '../events/bus.ts'
import type { HandsMetrics } from '../hands/metrics.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { Wake } from '../loop.ts'
import type { Feed, Taken } from './feed.ts'

const CHANNEL = 'reeve:ready'
const LOOK_AGAIN_MS = 1000
const TAKEN = { status: 'ok', reason: '' }

export interface PostgresFeedOptions {
  ledger: () => Ledger
  bus: Bus
  owner: string
  leaseMs: number
  metrics: HandsMetrics
}

export function openPostgresFeed({ ledger, bus, owner, leaseMs, metrics }: PostgresFeedOptions): Feed {
  const wakes = new Map<string, Wake>()
  const wakeOf = (kind: string) => {
    const wake = wakes.get(kind) ?? new Wake()
    wakes.set(kind, wake)
    return wake
  }
  const ring = (kinds: Iterable<string>) => {
    for (const kind of kinds) wakes.get(kind)?.ring()
  }
  const unsubscribe = bus.subscribe(
    CHANNEL,
    (message) => ring(message.split(',')),
    () => ring(wakes.keys()),
  )
  const words = (kinds: Iterable<string>) => [...new Set(kinds)].join(',')
  const tell = (kinds: Iterable<string>) => bus.publish(CHANNEL, words(kinds))

  return {
    hint: (kinds) => tell(kinds),
    hintWithin: (kinds) => bus.within?.(CHANNEL, words(kinds)) ?? null,
    announce: async (jobs) => tell(jobs.map((job) => job.kind)),
    async take({ kind, limit, signal }) {
      const wake = wakeOf(kind)
      const jobs = await ledger().acquireNext({ kind, limit, owner, leaseMs })
      for (const { wasAbandoned } of jobs) (wasAbandoned ? metrics.reclaims : metrics.claims).inc(TAKEN)
      if (jobs.length === 0) await wake.wait(LOOK_AGAIN_MS, signal)
      return jobs.map((job): Taken => ({ job, acknowledge: async () => {} }))
    },
    loops: () => [],
    check: async () => {},
    close: async () => unsubscribe(),
  }
}
