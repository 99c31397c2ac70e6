// Theory of operation. Redis Streams as the feed (docs/judge.md, C1 to C6). Redis only drives the work: a job is in the
// ledger before it is in a stream, and whatever Redis loses is announced again.
//
//   submitter, outbox ─► announce ─► stream of its level ─► read ─► ledger.acquire ─► executor ─► acknowledge
//                           ▲                                └─ left pending ─► claim ─┘
//                           └──────── repair: ready or abandoned in the ledger, and in no stream
//
// An entry is in one of these states, and moves on only forwards:
//   waiting  in a stream, read by no consumer
//   pending  read by a consumer and not acknowledged: its job is being worked on, or was refused to this consumer
//   acknowledged, once the job has ended or a newer attempt owns it
// Every process that works is one consumer of the group. If it dies, its entries stay pending, and another consumer claims
// them when they have been idle for a lease and a grace period. The ledger decides in all cases who gets the job.
//
// One connection sends commands. Each kind has another one, which blocks. The scripts need all keys of a kind on one Redis:
// replicas and Sentinel work, a Redis Cluster does not.
import type { Redis } from 'ioredis'
import type { Loop } from '../../loop.ts'
import type { Delivery } from '../../outbox/delivery.ts'
import { sampledLog } from '../../log/sampled-log.ts'
import type { Feed } from '../feed.ts'
import { acknowledgeDuplicate, openAcknowledge } from './acknowledge.ts'
import { openAnnouncer } from './announcer.ts'
import { openConnection, openOutage, whenReady } from './connection.ts'
import { feedDeliveries } from './deliveries.ts'
import { openDirect } from './direct.ts'
import { GroupConnection } from './group-connection.ts'
import type { RedisFeedOptions } from './options.ts'
import { restorePayloads } from './payloads.ts'
import { openReader } from './reader.ts'
import { openRepair } from './repair.ts'
import { evaluate, OLDEST_WAITING } from './scripts/script.ts'
import { defaultStreamKey, scriptKeys, streamsAt, type Streams } from './streams.ts'
import { openTaker, type Taker } from './take.ts'

const CHECK_TIMEOUT_MS = 3000
const CHECK_KEY = 'reeve:check'
const CHECK_KEPT_SEC = 60

export interface RedisFeed extends Feed {
  /** Whether `hint` announces fresh jobs itself. Otherwise the outbox does. */
  announcesFresh(): boolean
  /** The outbox topics that announce jobs. */
  deliveries: readonly Delivery[]
}

export function openRedisFeed(options: RedisFeedOptions): RedisFeed {
  const { url, log, streams: settings } = options
  const streamsOf = (kind: string) => streamsAt(settings.keys?.[kind] ?? defaultStreamKey(kind))
  const sampled = sampledLog(log)
  const outage = openOutage(log)
  const commands = openConnection(url, 'reeve-feed', outage)
  const acknowledge = openAcknowledge(commands, options)
  const announcer = openAnnouncer(commands, options, streamsOf, sampled)
  const direct = openDirect(announcer, options)
  const repair = openRepair(commands, options, announcer, streamsOf)
  const open = new Map<string, { connection: GroupConnection; taker: Taker }>()

  const takerOf = (kind: string): Taker => {
    const known = open.get(kind)
    if (known !== undefined) return known.taker
    const streams = streamsOf(kind)
    const connection = new GroupConnection({
      url,
      name: `reeve-feed-${kind}`,
      group: settings.group,
      streams: streams.keys,
      commands,
      outage,
      log: log.child({ kind }),
      onLoss: () => repair.startOver(kind),
    })
    const reader = openReader(connection, streams, options)
    const taker = openTaker(reader, {
      options,
      kind,
      announcer,
      log: sampled,
      acknowledge: (entry) => acknowledge(streams, entry),
      acknowledgeDuplicate: (entry) => acknowledgeDuplicate(commands, streams, entry, options),
      restorePayloads: (acquired) => restorePayloads(commands, acquired, options, sampled),
    })
    open.set(kind, { connection, taker })
    return taker
  }

  const reclaim = (kinds: readonly string[]): Loop => ({
    name: 'reclaim-entries',
    everyMs: options.reclaim.everyMs,
    runOnce: async () => {
      for (const kind of kinds) takerOf(kind).reclaimNext()
      return false
    },
  })

  return {
    hint(_, fresh) {
      if (fresh === undefined) options.wakeDispatcher()
      else direct.add(fresh)
    },
    announcesFresh: () => options.onAnnounced !== undefined && direct.hasRoom(),
    announce: announcer.announce,
    take: (request) => takerOf(request.kind).take(request),
    loops: (kinds) => (kinds.length === 0 ? [] : [reclaim(kinds), repair.loop(kinds)]),
    deliveries: feedDeliveries(announcer, options.keepsOutboxRows ?? false),
    lagSec: (kind) => oldestWaitingSec(commands, streamsOf(kind), settings.group),
    check: () => checkWritable(commands),
    async close() {
      await direct.close()
      for (const { connection } of open.values()) connection.close()
      await Promise.all([...open.values()].map(({ taker }) => taker.close()))
      commands.disconnect()
    },
  }
}

const oldestWaitingSec = async (commands: Redis, streams: Streams, group: string): Promise<number> =>
  Number(await evaluate(commands, OLDEST_WAITING, scriptKeys(streams), [group])) / 1000

/** A Redis that is full or read-only still answers a ping, so this writes. */
async function checkWritable(commands: Redis): Promise<void> {
  try {
    await whenReady(commands, CHECK_TIMEOUT_MS)
    await commands.set(CHECK_KEY, 1, 'EX', CHECK_KEPT_SEC)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`Redis cannot be used: ${why}`, { cause: error })
  }
}
