// Takes job ids out of a sorted set, no more than there are free slots. If there are none, it blocks until some come.
import { Gathering } from '../../gathering.ts'
import type { BlockingConnection } from '../blocking-connection.ts'
import { evaluate, isReply, listFrom, TAKE_READY } from '../scripts/script.ts'

const BLOCK_SEC = 2
const GATHER_MS = 5
const REFUSALS = ['unknown command', 'NOPERM']

export interface ReadyReader {
  read(limit: number, signal: AbortSignal): Promise<string[]>
  close(): void
}

export function openReadyReader(connection: BlockingConnection, keys: { jobs: string; mark: string }): ReadyReader {
  const { redis } = connection
  let offersBzmpop = true // until it says otherwise: Redis 6.2 does not know it, and a user may not be allowed to use it

  const takeNow = async (limit: number) => {
    const ids = String(await evaluate(redis, TAKE_READY, [keys.jobs, keys.mark], [limit]))
    return ids === '' ? [] : ids.split(' ')
  }

  /** Of the processes that wait, the first one gets all jobs that came together, and the others sleep on. */
  const waitForSeveral = async (limit: number) => {
    const [, jobs] = listFrom(await redis.bzmpop(BLOCK_SEC, 1, keys.jobs, 'MIN', 'COUNT', limit))
    return listFrom(jobs).map((job) => String(listFrom(job)[0]))
  }

  /** Each process that waits is woken. Redis runs the second command as soon as the first no longer blocks. */
  const waitForOneAndTakeMore = async (limit: number) => {
    const [first, rest] = await Promise.all([redis.bzpopmin(keys.jobs, BLOCK_SEC), limit > 1 ? takeNow(limit - 1) : []])
    const [, jobId] = listFrom(first)
    return typeof jobId === 'string' ? [jobId, ...rest] : rest
  }

  const waitForJobs = async (limit: number) => {
    if (!offersBzmpop) return waitForOneAndTakeMore(limit)
    try {
      return await waitForSeveral(limit)
    } catch (error) {
      if (!REFUSALS.some((code) => isReply(error, code))) throw error
      offersBzmpop = false
      return waitForOneAndTakeMore(limit)
    }
  }

  const gathering = new Gathering(GATHER_MS)

  const read = async (limit: number, signal: AbortSignal) => {
    await gathering.wait(signal)
    const now = await takeNow(limit)
    const ids = now.length > 0 || signal.aborted ? now : await connection.block(() => waitForJobs(limit), signal)
    gathering.note(ids.length, limit)
    return ids
  }

  return {
    read: (limit, signal) => connection.run(() => read(limit, signal), [], signal),
    close: () => connection.close(),
  }
}
