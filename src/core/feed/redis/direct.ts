// The short way: the submitter announces its jobs at once, from memory, and then settles their outbox rows. If that fails, or
// the process dies in between, the outbox delivers the rows a few seconds later.
import { setTimeout as sleep } from 'node:timers/promises'
import { BATCH_TOPIC, FEED_TOPIC } from '../../ledger/submit/insert-jobs.ts'
import type { FreshJobs } from '../../ledger/ledger.ts'
import type { JobBrief } from '../../ledger/read.ts'
import type { PreparedJob } from '../../ledger/submit/submit.ts'
import type { DeliveredRow } from '../../outbox/delivery.ts'
import { Gathering } from '../gathering.ts'
import type { Announced, Announcer } from './announcer.ts'
import type { RedisFeedOptions } from './options.ts'

const JOBS_PER_ROUND = 1000
const CONCURRENCY = 2 // while Redis works on one round, the next is on its way
const GATHER_MS = 10
const SETTLE_EVERY_MS = 50
const WAITING_MAX = 20_000 // beyond that, the outbox is the better queue

interface Direct {
  /** Asked before the commit: without room, the outbox delivers the rows at once. */
  hasRoom(): boolean
  add(fresh: FreshJobs): void
  /** Waits for the announcements in flight. */
  close(): Promise<void>
}

export function openDirect(announcer: Announcer, { log, onAnnounced }: RedisFeedOptions): Direct {
  let waiting: FreshJobs[] = []
  let jobsWaiting = 0
  const running = new Set<Promise<void>>()
  let roundsRunning = 0
  const announcedRows: DeliveredRow[] = []
  let settling: Promise<void> | null = null
  const gathering = new Gathering(GATHER_MS)
  const closing = new AbortController()

  const nextRound = (): FreshJobs[] => {
    let jobs = 0
    const end = waiting.findIndex((fresh) => (jobs += fresh.jobs.length) >= JOBS_PER_ROUND)
    const round = end === -1 ? waiting.splice(0) : waiting.splice(0, end + 1)
    jobsWaiting -= jobs
    return round
  }

  const run = async () => {
    roundsRunning += 1
    while (waiting.length > 0) {
      if (jobsWaiting < JOBS_PER_ROUND) await gathering.wait()
      gathering.note(jobsWaiting, JOBS_PER_ROUND)
      const round = nextRound()
      try {
        const announced = await announcer.announceNew(round.flatMap(({ jobs }) => jobs.map(briefOf)))
        announcedRows.push(...round.flatMap((fresh) => rowsOf(fresh, announced)))
        if (announcedRows.length > 0) settling ??= settleRows()
      } catch (error) {
        log.debug({ err: error, calls: round.length }, 'the outbox announces these jobs')
        waiting = [] // they would fail as well
        jobsWaiting = 0
      }
    }
    roundsRunning -= 1 // in the same turn as the last look: what is added after it starts a run of its own
  }

  /** Within the grace period there is time to gather hundreds of rows and settle them in one commit. */
  const settleRows = async () => {
    while (announcedRows.length > 0) {
      await sleep(SETTLE_EVERY_MS, undefined, { signal: closing.signal }).catch(() => {}) // only rejects on abort
      await onAnnounced?.(announcedRows.splice(0)).catch((error: unknown) =>
        log.debug({ err: error }, 'the outbox delivers these rows again'),
      )
    }
    settling = null
  }

  return {
    hasRoom: () => jobsWaiting < WAITING_MAX,
    add(fresh) {
      waiting.push(fresh)
      jobsWaiting += fresh.jobs.length
      if (roundsRunning >= CONCURRENCY) return
      const rounds = run().finally(() => running.delete(rounds))
      running.add(rounds)
    },
    async close() {
      await Promise.all(running)
      closing.abort()
      await settling
    },
  }
}

/** The outbox rows that are delivered. A row for several jobs is needed until all of them are announced. */
function rowsOf({ jobs, inOneOutboxRow }: FreshJobs, announced: Announced): DeliveredRow[] {
  const found = jobs.filter(({ jobId }) => announced.has(jobId))
  if (!inOneOutboxRow) {
    return found.map(({ jobId }) => ({ topic: FEED_TOPIC, jobId, entryId: announced.get(jobId) ?? null }))
  }
  const [first] = jobs
  if (first === undefined || found.length < jobs.length) return []
  return [{ topic: BATCH_TOPIC, jobId: first.jobId, entryId: entriesOf(jobs, announced) }]
}

const entriesOf = (jobs: readonly PreparedJob[], announced: Announced): string | null => {
  const ids = jobs.flatMap(({ jobId }) => announced.get(jobId) ?? [])
  return ids.length === 0 ? null : ids.join()
}

const briefOf = ({ jobId, kind, priority, payload, accountId, trace }: PreparedJob): JobBrief => ({
  jobId,
  kind,
  state: 'pending',
  priority,
  payload,
  accountId,
  traceId: trace?.traceId ?? null,
})
