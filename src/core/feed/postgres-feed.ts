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
import { Gathering } from './gathering.ts'

const CHANNEL = 'reeve:ready'
const CHECK_MS = 1000
const GATHER_MS = 5
const UNASKED_MS = 15_000
const TAKEN = { status: 'ok', reason: '' }

// Until the next vacuum the index of live jobs begins with entries of jobs that have ended, and a search from its start walks
// past all of them. So a busy executor searches from a little before the last job it got, and from the start only once in a
// while: for jobs that are urgent, were released, or were abandoned. Where several processes take each other's jobs away, most
// searches find nothing; those from the start are then limited to a part of the time.
const SEARCH_FROM_START_MS = 250
const SEARCHES_FROM_START_PART = 20 // one in so many
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
  let unsubscribe = () => {}
  const wakeOf = (kind: string) => {
    if (wakes.size === 0) unsubscribe = listen() // a process that takes no jobs is not woken for each of them
    const known = wakes.get(kind) ?? { wake: new Wake(), gathering: new Gathering(GATHER_MS) }
    wakes.set(kind, known)
    return known
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
      const { wake, gathering } = wakeOf(request.kind)
      await gathering.wait(request.signal)
      const started = performance.now()
      const { jobs, restMs } = await next(request)
      gathering.note(jobs.length, request.limit)
      const reclaims = jobs.filter(({ wasAbandoned }) => wasAbandoned).length
      if (reclaims > 0) metrics.reclaimLatency.observe(performance.now() - started)
      metrics.reclaims.inc(TAKEN, reclaims)
      metrics.claims.inc(TAKEN, jobs.length - reclaims)
      if (jobs.length === 0) await wake.wait(restMs, request.signal)
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
  /** The next search from the start comes no earlier. */
  startAgainAt: number
  /** That search found nothing: jobs that have come since are new. */
  foundNothing: boolean
}

interface Next {
  jobs: Acquired[]
  /** If there are none: search again after so long without a hint. */
  restMs: number
}

/** The next jobs of a kind. Before it reports that there are none until a hint comes, it has searched from the start. */
function openNext({ ledger, owner, leaseMs }: PostgresFeedOptions): (request: TakeRequest) => Promise<Next> {
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
        return { jobs, restMs: 0 }
      }
      const restMs = place.startAgainAt - performance.now()
      if (restMs > 0) return { jobs, restMs }
    }
    const started = performance.now()
    const { jobs, lastRank } = await ledger().acquireNextFrom(null, request)
    const tookMs = performance.now() - started
    const known = lastRank ?? place?.lastRank
    if (known !== undefined) {
      const startAgainAt = started + Math.min(SEARCH_FROM_START_MS, tookMs * SEARCHES_FROM_START_PART)
      places.set(kind, { lastRank: known, searchedFromStart: started, startAgainAt, foundNothing: lastRank === null })
    }
    return { jobs, restMs: UNASKED_MS }
  }
}
