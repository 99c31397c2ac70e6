// PostgreSQL as the feed: the live rows are the queue (`for update skip locked`), and a hint on the bus ends the wait. There
// is nothing to acknowledge and nothing to lose: a lost hint costs one second, and so does the end of a lease, which nobody
// announces: the check of all loops (due-check.ts) finds a job that can be taken.
import type { Bus } from '../events/bus.ts'
import type { ExecutorMetrics } from '../executor/metrics.ts'
import type { Acquired } from '../ledger/job.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { canBeTaken } from '../ledger/acquire.ts'
import { Wake } from '../loop.ts'
import type { Feed, TakenJob, TakeRequest } from './feed.ts'

const CHANNEL = 'reeve:ready'
const CHECK_MS = 1000
const UNASKED_MS = 15_000
const TAKEN = { status: 'ok', reason: '' }

// Until the next vacuum the index of live jobs begins with entries of jobs that have ended, and a search from its start walks
// past all of them. So a busy executor searches from a little before the last job it got, and from the start only once in a
// while: for jobs that are urgent, were released, or were abandoned.
const SEARCH_FROM_START_MS = 250
const STEP_BACK_US = 25_000 // of rank: jobs become visible in the order of their commits, not of their ranks

interface PostgresFeedOptions {
  ledger: () => Ledger
  bus: Bus
  owner: string
  leaseMs: number
  metrics: ExecutorMetrics
  /** Kinds whose jobs are taken from the feed. Default: all. */
  announces?: (kind: string) => boolean
}

export function openPostgresFeed(options: PostgresFeedOptions): Feed {
  const { bus, metrics, announces = () => true } = options
  const wakes = new Map<string, Wake>()
  const ring = (kinds: Iterable<string>) => {
    for (const kind of kinds) wakes.get(kind)?.ring()
  }
  let unsubscribe = () => {}
  const wakeOf = (kind: string) => {
    if (wakes.size === 0) unsubscribe = listen() // a process that takes no jobs is not woken for each of them
    const wake = wakes.get(kind) ?? new Wake()
    wakes.set(kind, wake)
    return wake
  }
  const listen = () =>
    bus.subscribe(
      CHANNEL,
      (message) => ring(message.split(',')),
      () => ring(wakes.keys()),
    )
  const messageOf = (kinds: Iterable<string>) => [...new Set(kinds)].join(',')
  const publish = (kinds: Iterable<string>) => bus.publish(CHANNEL, messageOf(kinds))
  const next = openNext(options)

  return {
    hint(kinds) {
      const announced = kinds.filter(announces)
      if (announced.length > 0) publish(announced)
    },
    hintWithin: (kinds) => bus.within?.(CHANNEL, messageOf(kinds)) ?? null,
    announce: async (jobs) => publish(jobs.map((job) => job.kind)),
    async take(request) {
      const wake = wakeOf(request.kind)
      const started = performance.now()
      const jobs = await next(request)
      const reclaims = jobs.filter(({ wasAbandoned }) => wasAbandoned).length
      if (reclaims > 0) metrics.reclaimLatency.observe(performance.now() - started)
      metrics.reclaims.inc(TAKEN, reclaims)
      metrics.claims.inc(TAKEN, jobs.length - reclaims)
      if (jobs.length === 0) await wake.wait(UNASKED_MS, request.signal)
      return jobs.map((job): TakenJob => ({ job, acknowledge: null }))
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

interface TakePosition {
  lastRank: number
  searchedFromStart: number
  /** That search found nothing: jobs that have come since are new. */
  foundNothing: boolean
}

/** The next jobs of a kind. Before it reports that there are none, it has searched from the start. */
function openNext({ ledger, owner, leaseMs }: PostgresFeedOptions): (request: TakeRequest) => Promise<Acquired[]> {
  const places = new Map<string, TakePosition>()
  const isEnough = ({ foundNothing, searchedFromStart }: TakePosition) =>
    foundNothing || performance.now() - searchedFromStart < SEARCH_FROM_START_MS

  return async ({ kind, limit }) => {
    const request = { kind, limit, owner, leaseMs }
    const place = places.get(kind)
    if (place !== undefined && isEnough(place)) {
      place.foundNothing = false
      const { jobs, lastRank } = await ledger().acquireNextFrom(place.lastRank - STEP_BACK_US, request)
      if (lastRank !== null) {
        place.lastRank = Math.max(place.lastRank, lastRank)
        return jobs
      }
    }
    const searchedFromStart = performance.now()
    const { jobs, lastRank } = await ledger().acquireNextFrom(null, request)
    const known = lastRank ?? place?.lastRank
    if (known !== undefined) places.set(kind, { lastRank: known, searchedFromStart, foundNothing: lastRank === null })
    return jobs
  }
}
