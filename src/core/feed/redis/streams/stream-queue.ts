// Streams as the queue of a kind (docs/judge.md, C1 to C6).
//
//   announce ─► stream of its level ─► read ─► ledger.acquire ─► executor ─► acknowledge
//                                       └─ left pending ─► claim ─┘
//
// An entry is in one of these states, and moves on only forwards:
//   waiting  in a stream, read by no consumer
//   pending  read by a consumer and not acknowledged: its job is being worked on, or was refused to this consumer
//   acknowledged, once the job has ended or a newer attempt owns it
// Every process that works is one consumer of the group. If it dies, its entries stay pending, and another consumer claims
// them when they have been idle for a lease and a grace period.
import { systemClock } from '../../../clock.ts'
import type { ReadyJob } from '../../../ledger/repair.ts'
import { BlockingConnection } from '../blocking-connection.ts'
import type { KindQueue, LostJob, KindQueueDeps } from '../queue.ts'
import { BACKLOG, evaluate, FIND_LOST, listFrom, OLDEST_WAITING, SWEEP } from '../scripts/script.ts'
import { acknowledgeDuplicate, openAcknowledge } from './acknowledge.ts'
import { announceJobs, type AnnounceOptions } from './announce.ts'
import { createGroups } from './groups.ts'
import { restorePayloads } from './payloads.ts'
import { openReader } from './reader.ts'
import { agedLevelOf, scriptKeys, streamsAt } from './streams.ts'
import { openTaker } from './take.ts'

const SWEEP_COUNT = 500

export function openStreamQueue(key: string, deps: KindQueueDeps): KindQueue {
  const { kind, options, commands: redis, log } = deps
  const { group, maxLength } = options.streams
  const { ageingSec, payloadTtlSec, clock = systemClock } = options
  const streams = streamsAt(key)
  const keys = scriptKeys(streams)
  const announcing: AnnounceOptions = { redis, group, maxLength, payloadTtlSec, clock }
  const acknowledge = openAcknowledge(redis, options)
  let sweepCursor = '0'

  return {
    forgetsWhatWasRead: false,
    announce: (announcements, areNew) => announceJobs(announcing, streams, announcements, areNew),
    backlog: async () => Number(await evaluate(redis, BACKLOG, keys, [group])),
    oldestWaitingMs: async () => Number(await evaluate(redis, OLDEST_WAITING, keys, [group])),
    async findLost(jobs: readonly ReadyJob[]) {
      const now = clock.now()
      const leveled = jobs.map((job): LostJob => ({ ...job, level: agedLevelOf(job, { now, ageingSec }) }))
      const args = leveled.flatMap(({ jobId, level = 0 }) => [jobId, level])
      const reply = listFrom(await evaluate(redis, FIND_LOST, keys, [group, ...args]))
      return leveled.filter((_, index) => reply[index] === 1)
    },
    async sweep() {
      const args = [group, sweepCursor, SWEEP_COUNT, options.repair.forgetConsumersMs]
      sweepCursor = String(await evaluate(redis, SWEEP, keys, args))
    },
    openTaker({ announcer, onLoss }) {
      const connection = new BlockingConnection({
        ...deps,
        prepare: (on) => createGroups(on, streams.keys, group),
        onLoss,
      })
      const taker = openTaker(openReader(connection, streams, options), {
        options,
        kind,
        announcer,
        log,
        acknowledge: (entry) => acknowledge(streams, entry),
        acknowledgeDuplicate: (entry) => acknowledgeDuplicate(redis, streams, entry, options),
        restorePayloads: (acquired) => restorePayloads(redis, acquired, options, log),
      })
      return {
        ...taker,
        async close() {
          connection.close()
          await taker.close()
        },
      }
    },
  }
}
