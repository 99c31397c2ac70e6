// Repair: jobs that the ledger says are ready or abandoned, and that nothing in Redis leads to, are announced again, whatever the
// cause: a flushed Redis, a trimmed stream, a lost entry, a deleted group, a process that died with what it had read. It also moves
// jobs that have waited long enough up a level, and deletes places of entries that no longer exist.
import type { Redis } from 'ioredis'
import type { RankPosition, ReadyJob } from '../../ledger/repair.ts'
import { Wake, type Loop } from '../../loop.ts'
import type { Announcer } from './announcer.ts'
import { openBackoff } from './backoff.ts'
import type { RedisFeedOptions } from './options.ts'
import type { KindQueue, LostJob } from './queue.ts'

const PAGE = 500

interface FeedRepair {
  loop(kinds: readonly string[]): Loop
  /** Redis has lost the queue of this kind: check every job, now. */
  startOver(kind: string): void
}

interface Progress {
  /** Null: at the beginning. */
  after: RankPosition | null
  /** Every job is checked, however young, until the end was reached once. */
  all: boolean
}

export function openRepair(
  redis: Redis,
  options: RedisFeedOptions,
  announcer: Announcer,
  queueOf: (kind: string) => KindQueue,
): FeedRepair {
  const { ledger, log, repair } = options
  const wake = new Wake()
  const backoff = openBackoff(repair.olderThanMs)
  const progressOf = new Map<string, Progress>()

  const announce = async (kind: string, lost: readonly LostJob[]) => {
    if (lost.length === 0) return
    await announcer.announce(lost)
    log.info({ kind, jobs: lost.length }, 'announced jobs again that were missing from the feed')
  }

  const findWaiting = (kind: string, after: RankPosition | null, olderThanMs = repair.olderThanMs) =>
    ledger().findWaiting({ kind, olderThanMs, after, limit: PAGE })

  /** What was read is older than what waits, so it is at the beginning. It waits neither for room nor for a backoff. */
  const announceRead = async (kind: string, abandoned: readonly ReadyJob[]): Promise<number> => {
    const { jobs } = await findWaiting(kind, null)
    const lost = await queueOf(kind).findLost([...jobs, ...abandoned])
    await announce(kind, lost)
    return lost.length
  }

  /** One page. Resolves to whether the next page should follow at once: only while pages show that much was lost. */
  const repairKind = async (kind: string): Promise<boolean> => {
    const progress = progressOf.get(kind) ?? { after: null, all: false }
    progressOf.set(kind, progress)
    const queue = queueOf(kind)
    const abandoned = await ledger().findAbandoned({ kinds: [kind], exhausted: false })
    const read = queue.forgetsWhatWasRead ? await announceRead(kind, abandoned) : 0
    if (!(await announcer.hasRoom(kind))) return false

    const { jobs, next } = await findWaiting(kind, progress.after, progress.all ? 0 : repair.olderThanMs)
    const lost = backoff.filter(await queue.findLost([...jobs, ...abandoned]))
    await announce(kind, lost)
    backoff.note(lost)
    const goesOn = next !== null && (progress.all || read + lost.length > PAGE / 2)
    progress.after = next
    if (next === null) progress.all = false
    await queue.sweep()
    return goesOn
  }

  return {
    startOver(kind) {
      progressOf.set(kind, { after: null, all: true })
      backoff.clear()
      wake.ring()
    },
    loop: (kinds) => ({
      name: 'repair-feed',
      everyMs: repair.everyMs,
      wake,
      runOnce: async (signal) => {
        let more = false
        for (const kind of kinds) {
          if (redis.status !== 'ready' || signal.aborted) return false // the outage is logged once, elsewhere
          more = (await repairKind(kind)) || more
        }
        return more
      },
    }),
  }
}
