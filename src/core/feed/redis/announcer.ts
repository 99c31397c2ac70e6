// Three callers announce jobs: the submitter, from memory; the outbox, if the submitter could not; and the loops of the ledger
// and the feed, for jobs that are due or lost. The last two know only ids: the rest is read from the ledger here, and jobs
// that have ended are left out.
import type { Redis } from 'ioredis'
import { groupBy } from '../../values/group-by.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { JobBrief } from '../../ledger/read.ts'
import type { Delivered } from '../../outbox/delivery.ts'
import { openCapacity } from './capacity.ts'
import { whenReady } from './connection.ts'
import type { SampledLog } from '../../log/sampled-log.ts'
import type { RedisFeedOptions } from './options.ts'
import type { Announcement, KindQueue, LostJob } from './queue.ts'
import type { Level } from './streams/streams.ts'

const READY_WAIT_MS = 1000

/** By job: its entry in a stream. Null: it is in a queue without entries. */
export type Announced = ReadonlyMap<string, string | null>

export interface Announcer {
  /** Throws unless every job that has not ended was announced. */
  announce(jobs: readonly LostJob[]): Promise<void>
  /** Announces jobs that their submitter still has in memory. Resolves to the entries of those that are in Redis now. */
  announceNew(jobs: readonly JobBrief[]): Promise<Announced>
  /** Whether the queue of a kind can take more. A stream would trim entries that nobody has read. */
  hasRoom(kind: string): Promise<boolean>
  /** For the outbox: the outcome for each job that is still pending. */
  deliver(jobIds: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, Delivered>>
}

export function openAnnouncer(
  redis: Redis,
  { ledger, streams, announces = () => true }: RedisFeedOptions,
  queueOf: (kind: string) => KindQueue,
  log: SampledLog,
): Announcer {
  const capacity = openCapacity(queueOf, streams.maxLength)

  const logRefused = ({ jobId, kind, traceId }: JobBrief, reason: string) =>
    log.error({ job_id: jobId, trace_id: traceId, kind, reason }, 'the feed refused a job')

  const announceKind = async (kind: string, announcements: readonly Announcement[], areNew = false) => {
    capacity.use(kind, announcements.length)
    try {
      const answers = await queueOf(kind).announce(announcements, areNew)
      announcements.forEach(({ job }, index) => {
        const answer = answers[index]
        if (answer?.ok === false) logRefused(job, answer.error)
      })
      return answers
    } catch (error) {
      for (const { job } of announcements) logRefused(job, error instanceof Error ? error.message : String(error))
      throw error
    }
  }

  return {
    hasRoom: capacity.hasRoom,
    async announce(jobs) {
      await whenReady(redis, READY_WAIT_MS)
      const isWanted = ({ state, kind }: JobBrief) => state !== 'done' && state !== 'dead' && announces(kind)
      for (const [kind, announcements] of await readByKind(ledger(), jobs, isWanted)) {
        const answers = await announceKind(kind, announcements)
        for (const answer of answers) if (!answer.ok) throw new Error(`Redis refused an entry: ${answer.error}`)
      }
    },
    async announceNew(jobs) {
      const wanted = jobs.filter((job) => announces(job.kind)).map((job): Announcement => ({ job }))
      const announced = new Map<string, string | null>()
      for (const [kind, announcements] of groupBy(wanted, ({ job }) => job.kind)) {
        if (!(await capacity.hasRoom(kind))) continue
        const answers = await announceKind(kind, announcements, true)
        announcements.forEach(({ job }, index) => {
          const answer = answers[index]
          if (answer?.ok === true) announced.set(job.jobId, answer.entryId ?? null)
        })
      }
      return announced
    },
    async deliver(jobIds, signal) {
      await whenReady(redis, READY_WAIT_MS)
      const named = jobIds.map((jobId) => ({ jobId }))
      const pending = await readByKind(ledger(), named, (job) => job.state === 'pending' && announces(job.kind))
      const answerOf = new Map<string, Delivered>()
      for (const [kind, announcements] of pending) {
        const answers = await deliverKind(
          announcements,
          () => capacity.waitForRoom(kind, signal),
          () => announceKind(kind, announcements),
        )
        announcements.forEach(({ job }, index) => answerOf.set(job.jobId, answers[index] ?? NO_ANSWER))
      }
      return answerOf
    },
  }
}

async function readByKind(
  ledger: Ledger,
  jobs: readonly { jobId: string; level?: Level }[],
  isWanted: (job: JobBrief) => boolean,
): Promise<Map<string, Announcement[]>> {
  const levelOf = new Map(jobs.map(({ jobId, level }) => [jobId, level]))
  const briefs = (await ledger.briefs([...levelOf.keys()])).filter(isWanted)
  return groupBy(
    briefs.map((job): Announcement => ({ job, level: levelOf.get(job.jobId) })),
    ({ job }) => job.kind,
  )
}

/** An error with the streams of one kind does not hold back the others. */
async function deliverKind(
  announcements: readonly Announcement[],
  waitForRoom: () => Promise<boolean>,
  announce: () => Promise<readonly Delivered[]>,
): Promise<readonly Delivered[]> {
  try {
    return (await waitForRoom()) ? await announce() : announcements.map(() => STREAM_FULL)
  } catch (error) {
    const failed: Delivered = { ok: false, error: error instanceof Error ? error.message : String(error) }
    return announcements.map(() => failed)
  }
}

const STREAM_FULL: Delivered = { ok: false, error: 'stream_full', retryMs: 1000 }
const NO_ANSWER: Delivered = { ok: false, error: 'No answer from Redis.' }
