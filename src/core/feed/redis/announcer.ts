// Who announces: the outbox, for what was just submitted; the ledger's and the feed's own loops, for what is due or lost.
// They know only ids: the payload is read from the ledger here, and what needs no hands any more is left out. Whoever has
// just submitted a job still has it in memory, and announces that.
import type { Redis } from 'ioredis'
import { systemClock } from '../../clock.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { JobBrief } from '../../ledger/read.ts'
import type { ReadyJob } from '../../ledger/repair.ts'
import type { Delivered } from '../../outbox/delivery.ts'
import { groupBy } from '../../group-by.ts'
import { announceJobs, type Announcement, type AnnounceOptions } from './announce.ts'
import { whenReady } from './connection.ts'
import type { RedisFeedOptions } from './options.ts'
import { openRoom } from './capacity.ts'
import { streamsOf, type Level } from './streams.ts'

const READY_WAIT_MS = 1000

export interface Announcer {
  /** Throws unless every job that has not ended was announced. */
  announce(jobs: readonly (ReadyJob & { level?: Level })[]): Promise<void>
  /** Announces what its submitter still has in memory. Resolves to the ids of those that are in a stream now. */
  announceNew(jobs: readonly JobBrief[]): Promise<ReadonlySet<string>>
  /** Whether the kind's streams can take more without trimming what nobody has read. */
  hasRoom(kind: string): Promise<boolean>
  /** For the outbox: what became of each job. Of one that has ended, or has hands already, nothing. */
  deliver(jobIds: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, Delivered>>
}

export function openAnnouncer(redis: Redis, feed: RedisFeedOptions): Announcer {
  const { ledger, streams, payloadTtlSec, clock = systemClock, announces = () => true } = feed
  const options: AnnounceOptions = { redis, group: streams.group, maxLength: streams.maxLength, payloadTtlSec, clock }
  const room = openRoom(options, streams.judgeKey)
  const streamsFor = (kind: string) => streamsOf(kind, streams.judgeKey)

  const announceKind = async (kind: string, announcements: readonly Announcement[], areNew = false) => {
    room.use(kind, announcements.length)
    return announceJobs(options, streamsFor(kind), announcements, areNew)
  }

  return {
    hasRoom: room.has,
    async announce(jobs) {
      await whenReady(redis, READY_WAIT_MS)
      const unended = await read(
        ledger(),
        jobs,
        (job) => job.state !== 'done' && job.state !== 'dead' && announces(job.kind),
      )
      for (const [kind, announcements] of unended) {
        const answers = await announceKind(kind, announcements)
        for (const answer of answers) if (!answer.ok) throw new Error(`Redis refused an entry: ${answer.error}`)
      }
    },
    async announceNew(jobs) {
      const wanted = jobs.filter((job) => announces(job.kind)).map((job): Announcement => ({ job }))
      const announced = new Set<string>()
      for (const [kind, announcements] of groupBy(wanted, ({ job }) => job.kind)) {
        if (!(await room.has(kind))) continue
        const answers = await announceKind(kind, announcements, true)
        announcements.forEach(({ job }, index) => answers[index]?.ok === true && announced.add(job.jobId))
      }
      return announced
    },
    async deliver(jobIds, signal) {
      await whenReady(redis, READY_WAIT_MS)
      const named = jobIds.map((jobId) => ({ jobId }))
      const waiting = await read(ledger(), named, (job) => job.state === 'pending' && announces(job.kind))
      const answerOf = new Map<string, Delivered>()
      for (const [kind, announcements] of waiting) {
        const isOpen = (): Promise<boolean> => room.wait(kind, signal)
        const answers = await deliverKind(announcements, isOpen, () => announceKind(kind, announcements))
        announcements.forEach(({ job }, index) => answerOf.set(job.jobId, answers[index] ?? NO_ANSWER))
      }
      return answerOf
    },
  }
}

/** Who knows only ids reads the rest from the ledger: those that are wanted, by kind. */
async function read(
  ledger: Ledger,
  jobs: readonly { jobId: string; level?: Level }[],
  wanted: (job: JobBrief) => boolean,
): Promise<Map<string, Announcement[]>> {
  const levelOf = new Map(jobs.map(({ jobId, level }) => [jobId, level]))
  const briefs = (await ledger.briefs([...levelOf.keys()])).filter(wanted)
  return groupBy(
    briefs.map((job): Announcement => ({ job, level: levelOf.get(job.jobId) })),
    ({ job }) => job.kind,
  )
}

/** What is wrong with one kind's streams is no reason to hold back the others. */
async function deliverKind(
  announcements: readonly Announcement[],
  isOpen: () => Promise<boolean>,
  announce: () => Promise<Delivered[]>,
): Promise<Delivered[]> {
  try {
    return (await isOpen()) ? await announce() : announcements.map(() => STREAM_FULL)
  } catch (error) {
    const failed: Delivered = { ok: false, error: error instanceof Error ? error.message : String(error) }
    return announcements.map(() => failed)
  }
}

const STREAM_FULL: Delivered = { ok: false, error: 'stream_full', retryMs: 1000 }
const NO_ANSWER: Delivered = { ok: false, error: 'No answer from Redis.' }
