// Takes job ids out of a sorted set, no more than there are free slots. If there are none, it blocks until one comes.
import { setTimeout as sleep } from 'node:timers/promises'
import type { BlockingConnection } from '../blocking-connection.ts'
import { evaluate, listFrom, TAKE_READY } from '../scripts/script.ts'

const BLOCK_SEC = 2
// A read, and the acquire that follows, cost nearly the same for one job as for twenty. So while jobs come several at a time, the
// next read waits until more have gathered. A job that comes alone is read at once.
const GATHER_MS = 5
const SEVERAL = 4

export interface ReadyReader {
  read(limit: number, signal: AbortSignal): Promise<string[]>
  close(): void
}

export function openReadyReader(connection: BlockingConnection, keys: { jobs: string; mark: string }): ReadyReader {
  const takeNow = async (limit: number) => {
    const ids = String(await evaluate(connection.redis, TAKE_READY, [keys.jobs, keys.mark], [limit]))
    return ids === '' ? [] : ids.split(' ')
  }

  /** Redis runs the second command as soon as the first no longer blocks: jobs that came together are taken together. */
  const takeNext = async (limit: number, signal: AbortSignal) => {
    const taking = () =>
      Promise.all([connection.redis.bzpopmin(keys.jobs, BLOCK_SEC), limit > 1 ? takeNow(limit - 1) : []])
    const [first, rest] = await connection.block(taking, signal)
    const [, jobId] = listFrom(first)
    return typeof jobId === 'string' ? [jobId, ...rest] : rest
  }

  let nextAt = 0

  const read = async (limit: number, signal: AbortSignal) => {
    const waitMs = nextAt - performance.now()
    if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => {}) // only rejects on abort
    const now = await takeNow(limit)
    const ids = now.length > 0 || signal.aborted ? now : await takeNext(limit, signal)
    if (ids.length >= SEVERAL && ids.length < limit) nextAt = performance.now() + GATHER_MS
    return ids
  }

  return {
    read: (limit, signal) => connection.run(() => read(limit, signal), [], signal),
    close: () => connection.close(),
  }
}
