// A sorted set of job ids as the queue of a kind.
//
//   announce ─► sorted set ─► taken out ─► ledger.acquire ─► executor
//
// The score is the time from which a job is ready, earlier by a time for each level of priority, as the rank in the ledger: the first
// member is the next job. A job is in the set once, however often it is announced. What was taken out is known to nobody but the
// process that took it, and the ledger: there is nothing to acknowledge. If the process dies before it has acquired a job, the job is
// pending, old and not in the set; if it dies later, the lease of the job expires: repair announces it in both cases.
import { systemClock } from '../../../clock.ts'
import type { Delivered } from '../../../outbox/delivery.ts'
import { BlockingConnection } from '../blocking-connection.ts'
import type { Announcement, KindQueue, KindQueueDeps } from '../queue.ts'
import { evaluate, listFrom, MOVE_ENTRIES } from '../scripts/script.ts'
import { scriptKeys, streamsAt, timeOf } from '../streams/streams.ts'
import { openReadyReader } from './read.ts'
import { openReadyTaker } from './take.ts'

const JOBS_PER_COMMAND = 1000
const ENTRIES_PER_SCRIPT = 1000
const ANNOUNCED: Delivered = { ok: true }

/** The mark has its own key: an empty set has none. */
const readyKeysOf = (kind: string) => ({ jobs: `reeve:ready:${kind}`, mark: `reeve:ready:${kind}:mark` })

export function openReadySet(deps: KindQueueDeps): KindQueue {
  const { kind, options, commands: redis, log } = deps
  const { ageingSec, clock = systemClock } = options
  const keys = readyKeysOf(kind)
  const earlierKeys = [...scriptKeys(streamsAt(`reeve:jobs:${kind}`)), keys.jobs]

  const scoreOf = ({ job: { jobId, priority } }: Announcement) =>
    (timeOf(jobId) ?? clock.now()) - priority * ageingSec * 1000

  const add = async (announcements: readonly Announcement[]) => {
    const members = announcements.flatMap((one) => [scoreOf(one), one.job.jobId])
    await redis.zadd(keys.jobs, 'NX', ...members)
  }

  return {
    forgetsWhatWasRead: true,
    async announce(announcements) {
      for (let start = 0; start < announcements.length; start += JOBS_PER_COMMAND) {
        await add(announcements.slice(start, start + JOBS_PER_COMMAND))
      }
      return announcements.map(() => ANNOUNCED)
    },
    backlog: () => redis.zcard(keys.jobs),
    async oldestWaitingMs() {
      const [first] = await redis.zrange(keys.jobs, '0', '0')
      const at = first === undefined ? null : timeOf(first)
      return at === null ? 0 : Math.max(0, clock.now() - at)
    },
    async findLost(jobs) {
      if (jobs.length === 0) return []
      const scores = listFrom(await redis.call('ZMSCORE', keys.jobs, ...jobs.map(({ jobId }) => jobId)))
      return jobs.filter((_, index) => scores[index] === null)
    },
    async sweep() {
      const args = [options.streams.group, ENTRIES_PER_SCRIPT, ageingSec * 1000]
      while (Number(await evaluate(redis, MOVE_ENTRIES, earlierKeys, args)) >= ENTRIES_PER_SCRIPT);
    },
    openTaker({ announcer, onLoss }) {
      const connection = new BlockingConnection({
        ...deps,
        prepare: async (on) => (await on.set(keys.mark, '1', 'NX')) === 'OK',
        onLoss,
      })
      return openReadyTaker(openReadyReader(connection, keys), { kind, options, announcer, log })
    },
  }
}
