// Announcing jobs to a stream: payload first, then entry. One script call does both for hundreds of jobs (announce.lua), so
// that no reader sees an entry whose payload is missing. The outbox may repeat itself, and a job that becomes due is
// announced by the outbox and by the ledger: the script does not add a second entry for a job whose entry still waits.
import type { Redis } from 'ioredis'
import type { Clock } from '../../../clock.ts'
import type { Delivered } from '../../../outbox/delivery.ts'
import type { Announcement } from '../queue.ts'
import { payloadKey, taskData } from './payloads.ts'
import { ANNOUNCE, evaluate, listFrom } from '../scripts/script.ts'
import { levelOf, scriptKeys, type Streams } from './streams.ts'

const JOBS_PER_SCRIPT = 500
const BYTES_PER_SCRIPT = 1_000_000

export interface AnnounceOptions {
  redis: Redis
  group: string
  maxLength: number
  payloadTtlSec: number
  clock: Clock
}

/** As KindQueue says. */
export async function announceJobs(
  options: AnnounceOptions,
  streams: Streams,
  announcements: readonly Announcement[],
  areNew: boolean,
): Promise<Delivered[]> {
  const { redis, group, maxLength, payloadTtlSec, clock } = options
  const head = [group, maxLength, payloadTtlSec, clock.now(), areNew ? 1 : 0]
  const sent = chunksOf(announcements).map(async (chunk) => {
    try {
      return answersFrom(await evaluate(redis, ANNOUNCE, scriptKeys(streams), [...head, chunk.lines.join('')]))
    } catch (error) {
      redis.unlink(chunk.jobIds.map(payloadKey)).catch(() => {}) // a cache, and it expires
      throw error
    }
  })
  return (await Promise.all(sent)).flat()
}

interface Chunk {
  jobIds: string[]
  /** One per job. */
  lines: string[]
  bytes: number
}

function chunksOf(announcements: readonly Announcement[]): Chunk[] {
  const chunks: Chunk[] = []
  let chunk: Chunk | undefined
  for (const { job, level = levelOf(job.priority) } of announcements) {
    if (chunk === undefined || chunk.jobIds.length >= JOBS_PER_SCRIPT || chunk.bytes >= BYTES_PER_SCRIPT) {
      chunk = { jobIds: [], lines: [], bytes: 0 }
      chunks.push(chunk)
    }
    const line = `${job.jobId} ${level} ${job.priority} ${taskData(job)}\n`
    chunk.jobIds.push(job.jobId)
    chunk.lines.push(line)
    chunk.bytes += line.length
  }
  return chunks
}

/** A hyphen stands for an entry that Redis refused; the errors are in the same order. */
function answersFrom(reply: unknown): Delivered[] {
  const [ids, errors] = listFrom(reply)
  const refusals = listFrom(errors).values()
  return String(ids)
    .split(' ')
    .map((entryId) => (entryId === '-' ? { ok: false, error: String(refusals.next().value) } : { ok: true, entryId }))
}
