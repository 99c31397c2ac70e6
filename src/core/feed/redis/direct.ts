// The short way: whoever submits announces at once, from memory, and then takes the outbox's rows away. They are there for
// when this fails or the process dies in between: their time comes a few seconds later, and the dispatcher takes the long way.
import { setTimeout as sleep } from 'node:timers/promises'
import { BATCH_TOPIC, FEED_TOPIC } from '../../ledger/submit/insert-jobs.ts'
import type { FreshJobs } from '../../ledger/ledger.ts'
import type { JobBrief } from '../../ledger/read.ts'
import type { PreparedJob } from '../../ledger/submit/submit.ts'
import type { RowKey } from '../../outbox/delivery.ts'
import type { Announcer } from './announcer.ts'
import type { RedisFeedOptions } from './options.ts'

const JOBS_PER_ROUND = 1000
const CONCURRENCY = 2 // while Redis works on one round, the next is on its way
const TIDY_EVERY_MS = 50
const WAITING_MAX = 20_000 // more than that, and the outbox is the better queue

export interface Direct {
  /** Asked before the commit, so that the outbox is told to look at once if there is none. */
  hasRoom(): boolean
  add(fresh: FreshJobs): void
  /** What is being announced is announced. */
  close(): Promise<void>
}

export function openDirect(announcer: Announcer, { log, onAnnounced }: RedisFeedOptions): Direct {
  let waiting: FreshJobs[] = []
  let jobsWaiting = 0
  const running = new Set<Promise<void>>()
  const served: RowKey[] = []
  let tidying: Promise<void> | null = null
  const closing = new AbortController()

  const nextRound = (): FreshJobs[] => {
    let jobs = 0
    const end = waiting.findIndex((fresh) => (jobs += fresh.jobs.length) >= JOBS_PER_ROUND)
    const round = end === -1 ? waiting.splice(0) : waiting.splice(0, end + 1)
    jobsWaiting -= jobs
    return round
  }

  const run = async () => {
    while (waiting.length > 0) {
      const round = nextRound()
      try {
        const announced = await announcer.announceNew(round.flatMap(({ jobs }) => jobs.map(briefOf)))
        served.push(...round.flatMap((fresh) => rowsServed(fresh, announced)))
        if (served.length > 0) tidying ??= tidy()
      } catch (error) {
        log.debug({ err: error, calls: round.length }, 'left to the outbox')
        waiting = [] // it would fail for them as well
        jobsWaiting = 0
      }
    }
  }

  /** There is time: until the outbox looks at a row, hundreds of them have gathered, and go with one commit. */
  const tidy = async () => {
    while (served.length > 0) {
      await sleep(TIDY_EVERY_MS, undefined, { signal: closing.signal }).catch(() => {}) // only rejects on abort
      await onAnnounced?.(served.splice(0)).catch((error: unknown) => log.debug({ err: error }, 'left to the outbox'))
    }
    tidying = null
  }

  return {
    hasRoom: () => jobsWaiting < WAITING_MAX,
    add(fresh) {
      waiting.push(fresh)
      jobsWaiting += fresh.jobs.length
      if (running.size >= CONCURRENCY) return
      const round = run().finally(() => running.delete(round))
      running.add(round)
    },
    async close() {
      await Promise.all(running)
      closing.abort()
      await tidying
    },
  }
}

/** A row that stands for several jobs has served when all of them are in a stream. */
function rowsServed({ jobs, inOneOutboxRow }: FreshJobs, announced: ReadonlySet<string>): RowKey[] {
  if (!inOneOutboxRow) return jobs.flatMap(({ jobId }) => (announced.has(jobId) ? [{ topic: FEED_TOPIC, jobId }] : []))
  const [first] = jobs
  if (first === undefined || !jobs.every(({ jobId }) => announced.has(jobId))) return []
  return [{ topic: BATCH_TOPIC, jobId: first.jobId }]
}

const briefOf = ({ jobId, kind, priority, payload, accountId, traceId }: PreparedJob): JobBrief => ({
  jobId,
  kind,
  state: 'pending',
  priority,
  payload,
  accountId,
  traceId,
})
