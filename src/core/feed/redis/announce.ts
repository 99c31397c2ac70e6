// Announcing a job: its payload first, then its entry (judge contract, C1). One script does both for hundreds of jobs, so
// that no reader sees an entry whose payload is not there yet. A job whose entry still waits to be read is not announced
// twice: the outbox may repeat itself, and what is due is announced by the outbox and by the ledger alike. Only for jobs that
// were submitted just now is nobody asked: they have no entry yet.
//
// A job is one argument and all the answers are one string: most of the time would otherwise go into packing and unpacking.
import type { Redis } from 'ioredis'
import type { Clock } from '../../clock.ts'
import type { JobBrief } from '../../ledger/read.ts'
import type { Delivered } from '../../outbox/delivery.ts'
import { PLACE } from './place.ts'
import { evaluate, listFrom, script } from './script.ts'
import { levelOf, scriptKeys, type Level, type Streams } from './streams.ts'

const JOBS_PER_SCRIPT = 500
const BYTES_PER_SCRIPT = 1_000_000
const PAYLOAD_KEY = 'task:payload:'

// A value of more than 64 bytes makes Redis keep the hash as one. A small hash it keeps as a list, and walks that for each job.
const ABOUT_PLACES = 'job id: level and id of its newest entry. Kept as a hash, not packed, by this long value.'

// The judge contract's payload: what a worker needs, in base64, in an envelope that names its own version.
const ENVELOPE = `'{"schema_version":1,"task_data_b64":"' .. data .. '","encoding":"base64","content_type":"application/json"}'`

const ANNOUNCE = script(`${PLACE}
local maxlen, ttl, now, is_new = ARGV[2], ARGV[3], ARGV[4], ARGV[5] == '1'
local ids, problems, places_of = {}, {}, {}

local function parts(text)
  local job_end = string.find(text, ' ', 1, true)
  local priority_end = string.find(text, ' ', job_end + 3, true)
  return string.sub(text, 1, job_end - 1), tonumber(string.sub(text, job_end + 1, job_end + 1)),
    string.sub(text, job_end + 3, priority_end - 1), string.sub(text, priority_end + 1)
end

local function add(job, level, priority, data)
  local ref = '${PAYLOAD_KEY}' .. job
  redis.call('SET', ref, ${ENVELOPE}, 'EX', ttl)
  local id = redis.pcall('XADD', KEYS[level], 'MAXLEN', '~', maxlen, '*',
    'job_id', job, 'enqueue_ts', now, 'payload_ref', ref, 'priority', priority)
  if type(id) == 'table' then
    redis.call('DEL', ref)
    return nil, id.err
  end
  places_of[#places_of + 1] = job
  places_of[#places_of + 1] = level .. ' ' .. id
  return id
end

for i = 6, #ARGV do
  local job, level, priority, data = parts(ARGV[i])
  local state, at, old = 'gone', nil, nil
  if not is_new then state, at, old = place(job) end
  local id, problem = old, nil
  if state ~= 'waiting' or at > level then
    id, problem = add(job, level, priority, data)
    if id and state == 'waiting' then redis.call('XDEL', KEYS[at], old) end
    if id and state == 'trimmed' then redis.call('XACK', KEYS[at], group, old) end
  end
  ids[#ids + 1] = id or '-'
  if problem then problems[#problems + 1] = problem end
end
if #places_of > 0 then
  redis.call('HSETNX', places, 'about', '${ABOUT_PLACES}')
  redis.call('HSET', places, unpack(places_of))
end
return {table.concat(ids, ' '), problems}`)

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

/**
 * One answer per job, in their order. `areNew`: nobody has announced them before. Throws when Redis cannot be used; then any
 * of them may have been announced.
 */
export async function announceJobs(
  options: AnnounceOptions,
  streams: Streams,
  announcements: readonly Announcement[],
  areNew = false,
): Promise<Delivered[]> {
  const { redis, group, maxLength, payloadTtlSec, clock } = options
  const head = [group, maxLength, payloadTtlSec, clock.now(), areNew ? 1 : 0]
  const sent = chunksOf(announcements).map(async (chunk) => {
    try {
      return answersFrom(await evaluate(redis, ANNOUNCE, scriptKeys(streams), [...head, ...chunk.args]))
    } catch (error) {
      redis.unlink(chunk.jobIds.map((jobId) => PAYLOAD_KEY + jobId)).catch(() => {}) // a cache, and it expires
      throw error
    }
  })
  return (await Promise.all(sent)).flat()
}

interface Chunk {
  jobIds: string[]
  args: string[]
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
    const arg = `${job.jobId} ${level} ${job.priority} ${taskData(job)}`
    chunk.jobIds.push(job.jobId)
    chunk.args.push(arg)
    chunk.bytes += arg.length
  }
  return chunks
}

function taskData({ jobId, kind, payload, priority, accountId, traceId }: JobBrief): string {
  const task = { job_id: jobId, kind, payload, priority, account_id: accountId, trace_id: traceId }
  return Buffer.from(JSON.stringify(task)).toString('base64')
}

/** A hyphen stands for an entry that Redis refused: the next of the problems is its own. */
function answersFrom(reply: unknown): Delivered[] {
  const [ids, problems] = listFrom(reply)
  const why = listFrom(problems).values()
  return String(ids)
    .split(' ')
    .map((entryId) => (entryId === '-' ? { ok: false, error: String(why.next().value) } : { ok: true, entryId }))
}
