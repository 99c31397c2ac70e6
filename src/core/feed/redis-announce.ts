// Announcing a job: its payload first, then its entry (judge contract, C1). One script does both for hundreds of jobs, so
// that no reader sees an entry whose payload is not there yet. A job whose entry still waits to be read is not announced
// twice: the outbox may repeat itself, and what is due is announced by the outbox and by the ledger alike.
import type { Redis } from 'ioredis'
import type { Clock } from '../clock.ts'
import type { JobBrief } from '../ledger/read.ts'
import type { Delivered } from '../outbox/delivery.ts'
import { PLACE } from './redis-place.ts'
import { evaluate, listFrom, script } from './redis-script.ts'
import { levelOf, scriptKeys, type Level, type Streams } from './redis-streams.ts'

const JOBS_PER_SCRIPT = 500
const BYTES_PER_SCRIPT = 1_000_000
const PAYLOAD_KEY = 'task:payload:'

const ANNOUNCE = script(`${PLACE}
local maxlen, ttl, now = ARGV[2], ARGV[3], ARGV[4]
local answers = {}

local function add(job, level, priority, payload)
  local ref = '${PAYLOAD_KEY}' .. job
  redis.call('SET', ref, payload, 'EX', ttl)
  local id = redis.pcall('XADD', KEYS[level], 'MAXLEN', '~', maxlen, '*',
    'job_id', job, 'enqueue_ts', now, 'payload_ref', ref, 'priority', priority)
  if type(id) == 'table' then
    redis.call('DEL', ref)
    return nil, id.err
  end
  redis.call('HSET', places, job, level .. ' ' .. id)
  return id
end

for i = 5, #ARGV, 4 do
  local job, level = ARGV[i], tonumber(ARGV[i + 1])
  local state, at, old = place(job)
  if state == 'waiting' and at <= level then
    answers[#answers + 1] = {old, ''}
  else
    local id, problem = add(job, level, ARGV[i + 2], ARGV[i + 3])
    if id and state == 'waiting' then redis.call('XDEL', KEYS[at], old) end
    if id and state == 'trimmed' then redis.call('XACK', KEYS[at], group, old) end
    answers[#answers + 1] = {id or '', problem or ''}
  end
end
return answers`)

export interface AnnounceOptions {
  redis: Redis
  group: string
  maxLength: number
  payloadTtlSec: number
  clock: Clock
}

export interface Announcement {
  job: JobBrief
  /** Above the job's own level once it has waited for long. */
  level?: Level | undefined
}

/** One answer per job, in their order. Throws when Redis cannot be used; then any of them may have been announced. */
export async function announceJobs(
  options: AnnounceOptions,
  streams: Streams,
  announcements: readonly Announcement[],
): Promise<Delivered[]> {
  const { redis, group, maxLength, payloadTtlSec, clock } = options
  const head = [group, maxLength, payloadTtlSec, clock.now()]
  const sent = chunksOf(announcements).map(async (chunk) => {
    try {
      const reply = await evaluate(redis, ANNOUNCE, scriptKeys(streams), [...head, ...chunk.args])
      return listFrom(reply).map(deliveredFrom)
    } catch (error) {
      redis.unlink(chunk.jobIds.map((jobId) => PAYLOAD_KEY + jobId)).catch(() => {}) // a cache, and it expires
      throw error
    }
  })
  return (await Promise.all(sent)).flat()
}

/** The judge contract's payload: what a worker needs, in base64, in an envelope that names its own version. */
export function envelopeOf({ jobId, kind, payload, priority, accountId, traceId }: JobBrief): string {
  const task = {
    job_id: jobId,
    kind,
    payload,
    priority,
    account_id: accountId,
    trace_id: traceId,
  }
  const data = Buffer.from(JSON.stringify(task)).toString('base64')
  // Written out, because base64 needs no escaping and this is done for every job.
  return `{"schema_version":1,"task_data_b64":"${data}","encoding":"base64","content_type":"application/json"}`
}

interface Chunk {
  jobIds: string[]
  args: (string | number)[]
  bytes: number
}

function chunksOf(announcements: readonly Announcement[]): Chunk[] {
  const chunks: Chunk[] = []
  let chunk: Chunk | undefined
  for (const { job, level = levelOf(job.priority) } of announcements) {
    if (chunk === undefined || chunk.jobIds.length >= JOBS_PER_SCRIPT || chunk.bytes >= BYTES_PER_SCRIPT) {
      chunk = { jobIds: [], args: [], bytes: 0 }
      chunks.push(chunk)
    }
    const envelope = envelopeOf(job)
    chunk.jobIds.push(job.jobId)
    chunk.args.push(job.jobId, level, job.priority, envelope)
    chunk.bytes += envelope.length
  }
  return chunks
}

function deliveredFrom(reply: unknown): Delivered {
  const [entryId, problem] = listFrom(reply)
  if (problem === '') return { ok: true, entryId: String(entryId) }
  return { ok: false, error: String(problem) }
}
