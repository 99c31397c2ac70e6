// Takes job ids out of a sorted set, no more than there are free slots. If there are none, it blocks until one comes.
import { Gathering } from '../../gathering.ts'
import type { BlockingConnection } from '../blocking-connection.ts'
import { evaluate, listFrom, TAKE_READY } from '../scripts/script.ts'

const BLOCK_SEC = 2
const GATHER_MS = 5

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

  const gathering = new Gathering(GATHER_MS)

  const read = async (limit: number, signal: AbortSignal) => {
    await gathering.wait(signal)
    const now = await takeNow(limit)
    const ids = now.length > 0 || signal.aborted ? now : await takeNext(limit, signal)
    gathering.note(ids.length, limit)
    return ids
  }

  return {
    read: (limit, signal) => connection.run(() => read(limit, signal), [], signal),
    close: () => connection.close(),
  }
}
