// Acknowledging. Entries that are acknowledged at the same moment share a script call per stream (acknowledge.lua).
import type { Redis } from 'ioredis'
import { batched } from '../../db/batch.ts'
import { groupBy } from '../../group-by.ts'
import { whenReady } from './connection.ts'
import type { RedisFeedOptions } from './options.ts'
import { ACKNOWLEDGE, evaluate } from './scripts/script.ts'
import { keyOf, type Entry, type Streams } from './streams.ts'

const READY_WAIT_MS = 1000

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
