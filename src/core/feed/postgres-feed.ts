// PostgreSQL as the feed: the live rows are the queue (`for update skip locked`), and a hint on the bus ends the wait. There
// is nothing to acknowledge and nothing to lose: a lost hint costs one second, and so does the end of a lease, which nobody
// announces: the check of all loops (due-check.ts) finds a job that can be taken.
import type { Bus } from '../events/bus.ts'
import type { ExecutorMetrics } from '../executor/metrics.ts'
import type { Acquired } from '../ledger/job.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { canBeTaken } from '../ledger/acquire.ts'
import { Wake } from '../loop.ts'
import type { Feed, TakenJob } from './feed.ts'
import { Gathering } from './gathering.ts'
import { openSearches } from './searches.ts'

const CHANNEL = 'reeve:ready'
const CHECK_MS = 1000
const GATHER_MS = 5
const TAKEN = { status: 'ok', reason: '' }

interface PostgresFeedOptions {
  ledger: () => Ledger
  bus: Bus
  owner: string
  leaseMs: number
  metrics: ExecutorMetrics
  /** Kinds whose jobs are taken from the feed. Default: all. */
  announces?: (kind: string) => boolean
}

interface KindWake {
  wake: Wake
  gathering: Gathering
}

export function openPostgresFeed(options: PostgresFeedOptions): Feed {
  const { bus, metrics, announces = () => true } = options
  const wakes = new Map<string, KindWake>()
  const ring = (kinds: Iterable<string>) => {
    for (const kind of kinds) wakes.get(kind)?.wake.ring()
  }
  const searches = openSearches(options)
  let unsubscribe = () => {}
  const wakeOf = (kind: string) => {
    if (wakes.size === 0) unsubscribe = listen() // a process that takes no jobs is not woken for each of them
    const known = wakes.get(kind) ?? { wake: new Wake(), gathering: new Gathering(GATHER_MS) }
    wakes.set(kind, known)
    return known
  }
  const listen = () => {
    const leaveHints = bus.subscribe(
      CHANNEL,
      (message) => ring(message.split(',')),
      () => ring(wakes.keys()),
    )
    const leaveSearches = searches.listen()
    return () => {
      leaveHints()
      leaveSearches()
    }
  }
  const messageOf = (kinds: Iterable<string>) => [...new Set(kinds)].join(',')
  const publish = (kinds: Iterable<string>) => bus.publish(CHANNEL, messageOf(kinds))

  return {
    hint(kinds) {
      const announced = kinds.filter(announces)
      if (announced.length > 0) publish(announced)
    },
    hintWithin: (kinds) => bus.within?.(CHANNEL, messageOf(kinds)) ?? null,
    announce: async (jobs) => publish(jobs.map((job) => job.kind)),
    async take(request) {
      const { wake, gathering } = wakeOf(request.kind)
      while (!request.signal.aborted) {
        await gathering.wait(request.signal)
        const started = performance.now()
        const { jobs, restMs } = await searches.next(request)
        gathering.note(jobs.length, request.limit)
        if (jobs.length > 0) {
          count(metrics, jobs, performance.now() - started)
          return jobs.map((job): TakenJob => ({ job, acknowledge: null }))
        }
        await wake.wait(restMs, request.signal)
      }
      return []
    },
    loops: (kinds) =>
      kinds.map((kind) => ({
        name: `find ${kind}`,
        everyMs: CHECK_MS,
        isDue: canBeTaken(kind),
        async runOnce() {
          ring([kind])
          return false
        },
      })),
    check: async () => {},
    close: async () => unsubscribe(),
  }
}

function count(metrics: ExecutorMetrics, jobs: readonly Acquired[], tookMs: number): void {
  const reclaims = jobs.filter(({ wasAbandoned }) => wasAbandoned).length
  if (reclaims > 0) metrics.reclaimLatency.observe(tookMs)
  metrics.reclaims.inc(TAKEN, reclaims)
  metrics.claims.inc(TAKEN, jobs.length - reclaims)
}
