// Repair: jobs that the ledger says are ready or abandoned, and that no stream leads to, are announced again, whatever the
// cause: a flushed Redis, a trimmed stream, a lost entry, a deleted group. It also moves jobs that have waited long enough
// up a level, and deletes places of entries that no longer exist.
import type { Redis } from 'ioredis'
import { systemClock } from '../../clock.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { RankPosition, ReadyJob } from '../../ledger/repair.ts'
import { Wake, type Loop } from '../../loop.ts'
import type { Announcer } from './announcer.ts'
import { openBackoff } from './backoff.ts'
import type { RedisFeedOptions } from './options.ts'
import { evaluate, FIND_LOST, listFrom, SWEEP } from './scripts/script.ts'
import { agedLevelOf, scriptKeys, type Streams } from './streams.ts'

const PAGE = 500
const SWEEP_COUNT = 500

interface StreamRepair {
  loop(kinds: readonly string[]): Loop
  /** Redis has lost the streams of this kind: check every job, now. */
  startOver(kind: string): void
}

interface Progress {
  /** Null: at the beginning. */
  after: RankPosition | null
  sweepCursor: string
  /** Every job is checked, however young, until the end was reached once. */
  all: boolean
}

export function openRepair(
  redis: Redis,
  options: RedisFeedOptions,
  announcer: Announcer,
  streamsOf: (kind: string) => Streams,
): StreamRepair {
  const { ledger, ageingSec, clock = systemClock, log, repair } = options
  const { group } = options.streams
  const wake = new Wake()
  const backoff = openBackoff(repair.olderThanMs)
  const progressOf = new Map<string, Progress>()

  const findLost = async (kind: string, jobs: readonly ReadyJob[]) => {
    const now = clock.now()
    const leveled = jobs.map((job) => ({ ...job, level: agedLevelOf(job, { now, ageingSec }) }))
    const args = leveled.flatMap(({ jobId, level }) => [jobId, level])
    const reply = listFrom(await evaluate(redis, FIND_LOST, scriptKeys(streamsOf(kind)), [group, ...args]))
    return leveled.filter((_, index) => reply[index] === 1)
  }

  /** One page. Resolves to whether the next page should follow at once: only while pages show that much was lost. */
  const repairKind = async (kind: string): Promise<boolean> => {
    const progress = progressOf.get(kind) ?? { after: null, sweepCursor: '0', all: false }
    progressOf.set(kind, progress)
    if (!(await announcer.hasRoom(kind))) return false

    const { jobs, next } = await find(ledger(), kind, progress, repair.olderThanMs)
    const lost = backoff.filter(await findLost(kind, jobs))
    if (lost.length > 0) {
      await announcer.announce(lost)
      backoff.note(lost)
      log.info({ kind, jobs: lost.length }, 'announced jobs again that were missing from the stream')
    }
    const goesOn = next !== null && (progress.all || lost.length > PAGE / 2)
    progress.after = next
    if (next === null) progress.all = false
    const sweepArgs = [group, progress.sweepCursor, SWEEP_COUNT, repair.forgetConsumersMs]
    progress.sweepCursor = String(await evaluate(redis, SWEEP, scriptKeys(streamsOf(kind)), sweepArgs))
    return goesOn
  }

  return {
    startOver(kind) {
      progressOf.set(kind, { after: null, sweepCursor: '0', all: true })
      backoff.clear()
      wake.ring()
    },
    loop: (kinds) => ({
      name: 'repair-streams',
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

/** A page of the jobs that wait, and the abandoned ones. */
async function find(ledger: Ledger, kind: string, { all, after }: Progress, olderThanMs: number) {
  const waiting = await ledger.findWaiting({ kind, olderThanMs: all ? 0 : olderThanMs, after, limit: PAGE })
  const abandoned = await ledger.findAbandoned({ kinds: [kind], exhausted: false })
  return { jobs: [...waiting.jobs, ...abandoned], next: waiting.next }
}
