// Acknowledging. Entries that are acknowledged at the same moment share a script call per stream (acknowledge.lua).
import type { Redis } from 'ioredis'
import { batched } from '../../../db/batch.ts'
import { groupBy } from '../../../values/group-by.ts'
import { whenReady } from '../connection.ts'
import type { RedisFeedOptions } from '../options.ts'
import { ACKNOWLEDGE, ACKNOWLEDGE_DUPLICATE, evaluate } from '../scripts/script.ts'
import { keyOf, scriptKeys, type Entry, type Streams } from './streams.ts'

const READY_WAIT_MS = 1000
const PENDING_SEARCHED_MAX = 1000 // per level

/** Never rejects: an entry that could not be acknowledged is claimed again later, and acknowledged then. */
type Acknowledge = (streams: Streams, entry: Entry) => Promise<void>

interface EndedEntry {
  streams: Streams
  entry: Entry
}

export function openAcknowledge(redis: Redis, { streams: { group }, log, metrics }: RedisFeedOptions): Acknowledge {
  const run = async (ended: readonly EndedEntry[]) => {
    const byStream = groupBy(ended, ({ streams, entry }) => keyOf(streams, entry.level))
    await Promise.all(
      [...byStream].map(async ([key, some]) => {
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
      log.error({ err: error, entries: ended.length, reason: 'xack_error' }, 'could not acknowledge entries')
    }
    return ended.map(() => true)
  }

  const acknowledge = batched<EndedEntry, boolean>({ run: runTwice })
  return async (streams, entry) => {
    await acknowledge({ streams, entry })
  }
}

/**
 * For an entry whose job is running. An entry that was claimed is usually the job's own, so other entries are searched only
 * for one that was just read. Never rejects: an entry that stays pending is met again.
 */
export async function acknowledgeDuplicate(
  redis: Redis,
  streams: Streams,
  { jobId, level, id, isReclaimed }: Entry,
  { streams: { group }, log }: RedisFeedOptions,
): Promise<void> {
  if (jobId === null) return
  try {
    const args = [group, jobId, level, id, isReclaimed ? 0 : PENDING_SEARCHED_MAX]
    await evaluate(redis, ACKNOWLEDGE_DUPLICATE, scriptKeys(streams), args)
  } catch (error) {
    log.debug({ err: error, job_id: jobId, entry_id: id }, 'a duplicate entry stays pending')
  }
}
