// Theory of operation. Redis as the feed: it only drives the work. A job is in the ledger before it is announced, and whatever Redis
// loses is announced again.
//
//   submitter, outbox ─► announce ─► queue of the kind ─► read ─► ledger.acquire ─► executor ─► acknowledge (streams)
//                           ▲
//                           └──────── repair: ready or abandoned in the ledger, and not in Redis
//
// A queue is a sorted set of job ids (ready/), or, for kinds whose stream has a key of its own, streams that other programs read and
// write as well (streams/; docs/judge.md, C1 to C6). The ledger decides in all cases who gets the job.
//
// One connection sends commands. Each kind has another one, which blocks. The scripts need all keys of a kind on one Redis:
// replicas and Sentinel work, a Redis Cluster does not.
import type { Redis } from 'ioredis'
import type { Loop } from '../../loop.ts'
import type { Delivery } from '../../outbox/delivery.ts'
import { sampledLog } from '../../log/sampled-log.ts'
import type { Feed } from '../feed.ts'
import { openAnnouncer } from './announcer.ts'
import { openConnection, openOutage, whenReady } from './connection.ts'
import { feedDeliveries } from './deliveries.ts'
import { openDirect } from './direct.ts'
import type { RedisFeedOptions } from './options.ts'
import type { KindQueue, Taker } from './queue.ts'
import { openReadySet } from './ready/ready-set.ts'
import { openRepair } from './repair.ts'
import { openStreamQueue } from './streams/stream-queue.ts'

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
  const sampled = sampledLog(log)
  const outage = openOutage(log)
  const commands = openConnection(url, 'reeve-feed', outage)
  const queueOf = remembered((kind: string): KindQueue => {
    const key = settings.keys?.[kind]
    const deps = { kind, options, commands, outage, log: sampled }
    return key === undefined ? openReadySet(deps) : openStreamQueue(key, deps)
  })
  const announcer = openAnnouncer(commands, options, queueOf, sampled)
  const direct = openDirect(announcer, options)
  const repair = openRepair(commands, options, announcer, queueOf)
  const takers: Taker[] = []
  const takerOf = remembered((kind: string): Taker => {
    const taker = queueOf(kind).openTaker({ announcer, onLoss: () => repair.startOver(kind) })
    takers.push(taker)
    return taker
  })

  const reclaim = (kinds: readonly string[]): Loop => ({
    name: 'reclaim-entries',
    everyMs: options.reclaim.everyMs,
    runOnce: async () => {
      for (const kind of kinds) takerOf(kind).reclaimNext()
      await notice(commands)
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
    lagSec: async (kind) => (await queueOf(kind).oldestWaitingMs()) / 1000,
    check: () => checkWritable(commands),
    async close() {
      await direct.close()
      await Promise.all(takers.map((taker) => taker.close()))
      commands.disconnect()
    },
  }
}

function remembered<T>(open: (kind: string) => T): (kind: string) => T {
  const known = new Map<string, T>()
  return (kind) => {
    const value = known.get(kind) ?? open(kind)
    known.set(kind, value)
    return value
  }
}

/** Finds a connection that is silently dead although nobody uses it: while the database is away, nothing is read from Redis. */
async function notice(commands: Redis): Promise<void> {
  if (commands.status !== 'ready') return
  await commands.ping().catch(() => {}) // the connection logs the outage, once
}

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
