// How the deployment is doing: rates, depth and age of every kind, latency, and what needs attention. Each process computes it once
// a second while somebody looks, however many, and every ten seconds otherwise, so that the charts begin with the past.
import type { Clock } from '../clock.ts'
import type { Deliveries } from '../deliveries/deliveries.ts'
import type { OpenDoor } from '../door.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { COUNTED_MAX, type LedgerSample } from '../ledger/watch/sample.ts'
import { BATCH_TOPIC, FEED_TOPIC } from '../ledger/submit/insert-jobs.ts'
import { liveTopic, type LiveTopic, type SendLive } from '../live/topic.ts'
import type { Loop } from '../loop.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { Type } from 'typebox'
import { diskOf } from './disk.ts'
import { firstIdAt } from '../ledger/job.ts'

const EVERY_MS = 1000
const IDLE_EVERY_MS = 10_000
const POINTS_MAX = 300
const RECENT_MS = 60_000
const SLOW_CHECK_MS = 10_000
const DEAD_LETTERS_MAX = 100
const DISK_FREE_MIN = 0.1
const OLD_MS = 10 * 60_000
const FEED_LATE_SEC = 30
const FEED_LATE_MAX = 1000

/** Something that a person should look at. */
export interface Attention {
  /** `warn`: soon. `bad`: now. */
  tone: 'warn' | 'bad'
  count: number
  /** There are more than were counted. */
  isMore?: boolean
  /** After the number: "dead jobs", or "dead job" where it is one. */
  text: string
  /** A page of the console, with its filter. */
  to: string
}

export interface OverviewDeps {
  ledger: Pick<Ledger, 'sample'>
  deliveries: Pick<Deliveries, 'list' | 'topics'>
  outbox: Pick<Outbox, 'countLate'>
  doors: readonly OpenDoor[]
  clock: Clock
  dataDir: string
  httpTotals: () => { total: number; errors: number }
}

export interface Overview {
  topic: LiveTopic
  loop: Loop
}

type Point = Record<string, number | null>

export function openOverview(deps: OverviewDeps): Overview {
  const { clock, httpTotals } = deps
  const viewers = new Set<SendLive>()
  const points: Point[] = []
  const slow = openSlowChecks(deps)
  let last: object | null = null
  let before = { at: 0, ...httpTotals() }

  const compute = async () => {
    const now = clock.now()
    const [sample, found] = await Promise.all([deps.ledger.sample(firstIdAt(now - RECENT_MS)), slow(now)])
    const totals = httpTotals()
    const sec = Math.max(0.001, (now - before.at) / 1000)
    const http =
      before.at === 0
        ? null
        : { requests: (totals.total - before.total) / sec, errors: (totals.errors - before.errors) / sec }
    before = { at: now, ...totals }
    const point = pointOf(now, sample, http)
    points.push(point)
    points.splice(0, points.length - POINTS_MAX)
    last = { point, kinds: kindsOf(sample), attention: [...attentionOf(sample, now), ...found] }
    for (const send of viewers) send('sample', last)
  }

  return {
    topic: liveTopic({
      name: 'overview',
      roles: ['ADMIN'],
      params: Type.Object({}, { additionalProperties: false }),
      open: async ({ send }) => {
        send('history', { points })
        if (last !== null) send('sample', last)
        viewers.add(send)
        return { ok: true, close: () => viewers.delete(send) }
      },
    }),
    loop: {
      name: 'sample-overview',
      everyMs: EVERY_MS,
      async runOnce() {
        if (viewers.size > 0 || clock.now() - before.at >= IDLE_EVERY_MS) await compute()
        return false
      },
    },
  }
}

const pointOf = (at: number, sample: LedgerSample, http: { requests: number; errors: number } | null): Point => ({
  at: at / 1000,
  submitted: sample.submitted,
  done: sample.done,
  died: sample.died,
  waiting: sample.kinds.reduce((sum, { waiting }) => sum + waiting, 0),
  running: sample.kinds.reduce((sum, { running }) => sum + running, 0),
  p50: sample.latencyMs?.[0] ?? null,
  p95: sample.latencyMs?.[1] ?? null,
  p99: sample.latencyMs?.[2] ?? null,
  requests: http?.requests ?? null,
  errors: http?.errors ?? null,
})

const kindsOf = ({ kinds }: LedgerSample) =>
  kinds.map(({ kind, waiting, running, oldestAt }) => ({
    kind,
    waiting,
    running,
    oldest_at: oldestAt?.toISOString() ?? null,
  }))

function attentionOf({ dead, kinds }: LedgerSample, now: number): Attention[] {
  const abandoned = kinds.reduce((sum, kind) => sum + kind.abandoned, 0)
  const old = kinds.filter(({ oldestAt }) => oldestAt !== null && now - oldestAt.getTime() > OLD_MS)
  const found: Attention[] = []
  if (dead > 0) {
    const isMore = dead > COUNTED_MAX
    found.push({
      tone: 'bad',
      count: Math.min(dead, COUNTED_MAX),
      isMore,
      text: dead === 1 ? 'dead job' : 'dead jobs',
      to: '/console/jobs?q=state:dead',
    })
  }
  if (abandoned > 0) {
    found.push({
      tone: 'warn',
      count: abandoned,
      text: abandoned === 1 ? 'job whose worker has gone' : 'jobs whose worker has gone',
      to: '/console/jobs?q=state:running',
    })
  }
  for (const { kind, waiting } of old) {
    found.push({
      tone: 'warn',
      count: waiting,
      isMore: waiting >= COUNTED_MAX,
      text: `${kind} waiting, some for more than 10 minutes`,
      to: `/console/jobs?q=state:waiting kind:${kind}`,
    })
  }
  return found
}

/** What need not be asked every second. */
function openSlowChecks({
  deliveries,
  outbox,
  doors,
  dataDir,
}: OverviewDeps): (now: number) => Promise<readonly Attention[]> {
  let found: readonly Attention[] = []
  let nextAt = 0
  return async (now) => {
    if (now < nextAt) return found
    nextAt = now + SLOW_CHECK_MS
    const letters = await deliveries.list({
      topics: deliveries.topics(),
      status: 'dead',
      before: null,
      limit: DEAD_LETTERS_MAX,
    })
    const late = await outbox.countLate([FEED_TOPIC, BATCH_TOPIC], { olderThanSec: FEED_LATE_SEC, max: FEED_LATE_MAX })
    const ofDoors = await Promise.all(doors.flatMap(({ opened }) => opened.attention?.() ?? []))
    const disk = await diskOf(dataDir)
    const free = disk === null ? 1 : disk.freeBytes / disk.totalBytes
    found = [
      ...(letters.length === 0 ? [] : [deadLetters(letters.length)]),
      ...(late === 0 ? [] : [feedBehind(late)]),
      ...(free >= DISK_FREE_MIN ? [] : [diskFull(free)]),
      ...ofDoors.flat(),
    ]
    return found
  }
}

const deadLetters = (count: number): Attention => ({
  tone: 'bad',
  count,
  isMore: count === DEAD_LETTERS_MAX,
  text: count === 1 ? 'dead letter' : 'dead letters',
  to: '/console/challenges/deliveries?status=dead',
})

/** Jobs that were accepted, and are not announced to workers yet: Redis is away or too slow. */
const feedBehind = (count: number): Attention => ({
  tone: 'bad',
  count,
  isMore: count === FEED_LATE_MAX,
  text: `${count === 1 ? 'announcement' : 'announcements'} of jobs behind by more than ${FEED_LATE_SEC} s`,
  to: '/console/admin/health',
})

const diskFull = (free: number): Attention => ({
  tone: 'bad',
  count: Math.round(free * 100),
  text: '% of the disk is free',
  to: '/console/admin/health',
})
