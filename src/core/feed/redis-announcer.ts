// Who announces: the outbox, for what was just submitted; the ledger's and the feed's own loops, for what is due or lost.
// Both know only ids. The payload is read from the ledger here, and what needs no hands any more is left out.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { systemClock } from '../clock.ts'
import type { Job } from '../ledger/job.ts'
import type { Announced } from '../ledger/repair.ts'
import type { Delivered, Delivery, OutboxRow } from '../outbox/delivery.ts'
import { groupBy } from './group-by.ts'
import { announceJobs, backlogOf, type AnnounceOptions } from './redis-announce.ts'
import type { RedisFeedOptions } from './redis-options.ts'
import { streamsOf, type Level } from './redis-streams.ts'

const ROWS_MAX = 1000
const RETRY = { baseMs: 250, maxMs: 5000 }
const FULL = 0.9 // of the length at which a stream would be trimmed
const ROOM_WAIT_MS = 100
const ROOM_WAITS_MAX = 10

export interface Announcer {
  /** Throws unless every job that has not ended was announced. */
  announce(jobs: readonly (Announced & { level?: Level })[]): Promise<void>
  /** Whether the kind's streams can take more without trimming what nobody has read. */
  hasRoom(kind: string): Promise<boolean>
  delivery: Delivery
}

export function openAnnouncer(redis: Redis, feed: RedisFeedOptions): Announcer {
  const { ledger, streams, payloadTtlSec, clock = systemClock, announces = () => true } = feed
  const options: AnnounceOptions = { redis, group: streams.group, maxLength: streams.maxLength, payloadTtlSec, clock }
  const streamsFor = (kind: string) => streamsOf(kind, streams.judgeKey)

  const read = async (jobs: readonly { jobId: string; level?: Level }[], wanted: (job: Job) => boolean) => {
    const found = await Promise.all(jobs.map(async ({ jobId, level }) => ({ job: await ledger().get(jobId), level })))
    const announcements = found.flatMap(({ job, level }) =>
      job !== null && wanted(job) ? [{ job, ...(level === undefined ? {} : { level }) }] : [],
    )
    return groupBy(announcements, ({ job }) => job.kind)
  }

  const hasRoom = async (kind: string) => (await backlogOf(options, streamsFor(kind))) < FULL * streams.maxLength

  /** The database is the longer queue: rather than trim what waits in the stream, rows wait in the outbox. */
  const waitForRoom = async (kind: string, signal: AbortSignal) => {
    for (let waits = 0; waits < ROOM_WAITS_MAX && !signal.aborted; waits += 1) {
      if (await hasRoom(kind)) return true
      await sleep(ROOM_WAIT_MS, undefined, { signal }).catch(() => {})
    }
    return false
  }

  const deliver = async (rows: readonly OutboxRow[], signal: AbortSignal): Promise<Delivered[]> => {
    const rowsOfUs = rows.flatMap(({ jobId }) => (jobId === null ? [] : [{ jobId }]))
    const answerOf = new Map<string, Delivered>()
    for (const [kind, announcements] of await read(rowsOfUs, (job) => job.state === 'pending' && announces(job.kind))) {
      const room = await waitForRoom(kind, signal)
      const answers = room ? await announceJobs(options, streamsFor(kind), announcements) : []
      announcements.forEach(({ job }, index) => answerOf.set(job.jobId, answers[index] ?? STREAM_FULL))
    }
    return rows.map(({ jobId }) => (jobId === null ? NO_JOB : (answerOf.get(jobId) ?? NOTHING_TO_SAY)))
  }

  return {
    hasRoom,
    async announce(jobs) {
      const unended = await read(jobs, (job) => job.state !== 'done' && job.state !== 'dead' && announces(job.kind))
      for (const [kind, announcements] of unended) {
        const answers = await announceJobs(options, streamsFor(kind), announcements)
        for (const answer of answers) if (!answer.ok) throw new Error(`Redis refused an entry: ${answer.error}`)
      }
    },
    delivery: { topic: 'feed', keeps: false, rowsMax: ROWS_MAX, retry: RETRY, attemptsMax: null, deliver },
  }
}

/** The job has ended, or has hands already: whatever becomes of those, its entry or the repair loop sees to it. */
const NOTHING_TO_SAY: Delivered = { ok: true }
const STREAM_FULL: Delivered = { ok: false, error: 'stream_full', retryMs: 1000 }
const NO_JOB: Delivered = { ok: false, error: 'The row names no job.', final: true }
