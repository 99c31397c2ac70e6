// Acknowledging. Whatever ends in the same moment is acknowledged by one script per stream. It also forgets where the job's
// entry was, unless the job has a newer one.
import type { Redis } from 'ioredis'
import { batched } from '../../db/batch.ts'
import { whenReady } from './connection.ts'
import type { Entry } from './entry.ts'
import { groupBy } from '../../group-by.ts'
import type { RedisFeedOptions } from './options.ts'
import { evaluate, script } from './script.ts'
import { keyOf, type Streams } from './streams.ts'

const READY_WAIT_MS = 1000

const ACKNOWLEDGE = script(`
local ids, jobs = {}, {}
for id, job in string.gmatch(ARGV[3], '(%S+) (%S*)\\n') do
  ids[#ids + 1] = id
  jobs[#jobs + 1] = job
end
redis.call('XACK', KEYS[1], ARGV[1], unpack(ids))
local known, over = redis.call('HMGET', KEYS[2], unpack(jobs)), {}
for i = 1, #jobs do
  if known[i] == ARGV[2] .. ' ' .. ids[i] then over[#over + 1] = jobs[i] end
end
if #over > 0 then redis.call('HDEL', KEYS[2], unpack(over)) end`)

/** Never rejects: an entry that could not be acknowledged is met again, and is acknowledged then. */
export type Acknowledge = (streams: Streams, entry: Entry) => Promise<void>

interface EndedEntry {
  streams: Streams
  entry: Entry
}

export function openAcknowledge(redis: Redis, { streams: { group }, log, metrics }: RedisFeedOptions): Acknowledge {
  const run = async (ended: readonly EndedEntry[]) => {
    const together = groupBy(ended, ({ streams, entry }) => keyOf(streams, entry.level))
    await Promise.all(
      [...together].map(async ([key, some]) => {
        const [first] = some
        if (first === undefined) return
        const pairs = some.map(({ entry }) => `${entry.id} ${entry.jobId ?? ''}\n`).join('')
        await evaluate(redis, ACKNOWLEDGE, [key, first.streams.places], [group, first.entry.level, pairs])
      }),
    )
  }

  const runTwice = async (ended: readonly EndedEntry[]) => {
    try {
      await run(ended).catch(() => whenReady(redis, READY_WAIT_MS).then(() => run(ended)))
    } catch (error) {
      metrics.claims.inc({ status: 'error', reason: 'xack_error' }, ended.length)
      log.error({ err: error, entries: ended.length, reason: 'xack_error' }, 'could not acknowledge')
    }
    return ended.map(() => true)
  }

  const acknowledge = batched<EndedEntry, boolean>({ run: runTwice })
  return async (streams, entry) => {
    await acknowledge({ streams, entry })
  }
}
