// PostgreSQL as the feed: the ready rows are the queue (`for update skip locked`), a hint on the bus ends the wait. There is
// nothing to acknowledge and nothing to lose: a hint that did not arrive costs one second.
import type { Bus } from '../events/bus.ts'
import { Wake } from '../loop.ts'
import type { Feed, Taken } from './feed.ts'
import { openAbandoned, type AbandonedOptions } from './postgres-abandoned.ts'

const CHANNEL = 'reeve:ready'
const LOOK_AGAIN_MS = 1000

export interface PostgresFeedOptions extends AbandonedOptions {
  bus: Bus
  reclaimEveryMs: number
}

export function openPostgresFeed(options: PostgresFeedOptions): Feed {
  const { ledger, bus, owner, leaseMs, reclaimEveryMs, metrics } = options
  const wakes = new Map<string, Wake>()
  const abandoned = openAbandoned(options)

  const wakeOf = (kind: string) => {
    const wake = wakes.get(kind) ?? new Wake()
    wakes.set(kind, wake)
    return wake
  }
  const ring = (kinds: readonly string[]) => kinds.forEach((kind) => wakes.get(kind)?.ring())
  const unsubscribe = bus.subscribe(
    CHANNEL,
    (message) => ring(message.split(',')),
    () => ring([...wakes.keys()]),
  )

  const takeReady = async (kind: string, limit: number) => {
    const ready = await ledger().acquireNext({ kind, limit, owner, leaseMs })
    if (ready.length > 0) metrics?.claims.inc({ status: 'ok', reason: '' }, ready.length)
    return ready
  }

  const findAbandoned = (kinds: readonly string[]) => ({
    name: 'find abandoned jobs',
    everyMs: reclaimEveryMs,
    runOnce: async () => {
      ring(await abandoned.find(kinds))
      return false
    },
  })

  return {
    hint: (kinds) => bus.publish(CHANNEL, kinds.join(',')),
    announce: async (jobs) => bus.publish(CHANNEL, [...new Set(jobs.map((job) => job.kind))].join(',')),

    async take({ kind, limit, signal }) {
      const wake = wakeOf(kind)
      const reclaimed = await abandoned.take(kind, limit)
      // What was taken over has its lease already, and goes to the hands before anything else can fail.
      const jobs = reclaimed.length > 0 ? reclaimed : await takeReady(kind, limit)
      if (jobs.length === 0) await wake.wait(LOOK_AGAIN_MS, signal)
      return jobs.map((job): Taken => ({ job, acknowledge: async () => {} }))
    },

    loops: (kinds) => (kinds.length === 0 ? [] : [findAbandoned(kinds)]),
    check: async () => {},
    close: async () => unsubscribe(),
  }
}
