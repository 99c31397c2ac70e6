// PostgreSQL as the feed: the ready rows are the queue (`for update skip locked`), a hint on the bus ends the wait. There is
// nothing to acknowledge and nothing to lose: a hint that did not arrive costs one second.
import type { Bus } from '../events/bus.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { Wake, type Loop } from '../loop.ts'
import type { Feed, Taken } from './feed.ts'

const CHANNEL = 'reeve:ready'
const LOOK_AGAIN_MS = 1000
const ABANDONED_MAX = 500

export interface PostgresFeedOptions {
  ledger: () => Ledger
  bus: Bus
  owner: string
  leaseMs: number
  reclaimEveryMs: number
}

export function openPostgresFeed({ ledger, bus, owner, leaseMs, reclaimEveryMs }: PostgresFeedOptions): Feed {
  const wakes = new Map<string, Wake>()
  const abandoned = new Map<string, Set<string>>()

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

  const takeAbandoned = async (kind: string, limit: number) => {
    const jobIds = [...(abandoned.get(kind) ?? [])].slice(0, limit)
    jobIds.forEach((jobId) => abandoned.get(kind)?.delete(jobId))
    const answers = await Promise.all(jobIds.map((jobId) => ledger().acquire({ jobId, owner, leaseMs })))
    return answers.flatMap((answer) => (answer.ok ? [answer.job] : []))
  }

  const findAbandoned = (kinds: readonly string[]): Loop => ({
    name: 'find abandoned jobs',
    everyMs: reclaimEveryMs,
    runOnce: async () => {
      const found = await ledger().findAbandoned({ kinds, exhausted: false, limit: ABANDONED_MAX })
      for (const { jobId, kind } of found) {
        abandoned.set(kind, (abandoned.get(kind) ?? new Set()).add(jobId))
      }
      ring(found.map((job) => job.kind))
      return false
    },
  })

  return {
    hint: (kinds) => bus.publish(CHANNEL, kinds.join(',')),
    announce: async (jobs) => bus.publish(CHANNEL, [...new Set(jobs.map((job) => job.kind))].join(',')),

    async take({ kind, limit, signal }) {
      const wake = wakeOf(kind)
      const reclaimed = await takeAbandoned(kind, limit)
      const fresh =
        reclaimed.length < limit
          ? await ledger().acquireNext({ kind, limit: limit - reclaimed.length, owner, leaseMs })
          : []
      const jobs = [...reclaimed, ...fresh]
      if (jobs.length === 0) await wake.wait(LOOK_AGAIN_MS, signal)
      return jobs.map((job): Taken => ({ job, acknowledge: async () => {} }))
    },

    loops: (kinds) => (kinds.length === 0 ? [] : [findAbandoned(kinds)]),
    check: async () => {},
    close: async () => unsubscribe(),
  }
}
