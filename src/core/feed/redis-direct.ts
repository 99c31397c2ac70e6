// The short way: whoever submits announces at once, from memory, and then takes the outbox's row away. The row is there for
// when this fails or the process dies in between: its time comes a few seconds later, and the dispatcher takes the long way.
import { setTimeout as sleep } from 'node:timers/promises'
import type { JobBrief } from '../ledger/read.ts'
import type { PreparedJob } from '../ledger/submit.ts'
import type { Announcer } from './redis-announcer.ts'
import type { RedisFeedOptions } from './redis-options.ts'

const JOBS_PER_ROUND = 1000
const TIDY_EVERY_MS = 50
const WAITING_MAX = 20_000 // more than that, and the outbox is the better queue

export interface Direct {
  add(jobs: readonly PreparedJob[]): void
  /** What is being announced is announced. */
  close(): Promise<void>
}

export function openDirect(announcer: Announcer, { log, onAnnounced }: RedisFeedOptions): Direct {
  let waiting: PreparedJob[] = []
  let running: Promise<void> | null = null
  const announced: string[] = []
  let tidying: Promise<void> | null = null
  const closing = new AbortController()

  const run = async () => {
    while (waiting.length > 0) {
      const jobs = waiting.splice(0, JOBS_PER_ROUND)
      try {
        announced.push(...(await announcer.announceNew(jobs.map(briefOf))))
        if (announced.length > 0) tidying ??= tidy()
      } catch (error) {
        log.debug({ err: error, jobs: jobs.length }, 'left to the outbox')
        waiting = [] // it would fail for them as well
      }
    }
    running = null
  }

  /** There is time: until the outbox looks at a row, hundreds of them have gathered, and go with one commit. */
  const tidy = async () => {
    while (announced.length > 0) {
      await sleep(TIDY_EVERY_MS, undefined, { signal: closing.signal }).catch(() => {}) // only rejects on abort
      const jobIds = announced.splice(0)
      await onAnnounced?.(jobIds).catch((error: unknown) => log.debug({ err: error }, 'left to the outbox'))
    }
    tidying = null
  }

  return {
    add(jobs) {
      if (waiting.length >= WAITING_MAX) return
      waiting.push(...jobs)
      running ??= run()
    },
    async close() {
      await running
      closing.abort()
      await tidying
    },
  }
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
