// Redis Streams as the feed (judge contract, C1 to C6). Redis drives the work and promises nothing: a job is in the ledger
// before it is in a stream, and whatever Redis loses is announced again.
//
//   outbox ─► announce ─► stream of its level ─► read ─► ledger.acquire ─► hands ─► acknowledge
//                ▲                                └─ left lying ─► claim ─┘
//                └──────── repair: ready or abandoned in the ledger, and in no stream
//
// One connection sends commands; each kind has another, which blocks. Levels, the places of entries and the scripts need
// one Redis with all the keys: replicas and Sentinel are fine, a Redis Cluster is not.
import { openAcknowledge } from './acknowledge.ts'
import { openAnnouncer } from './announcer.ts'
import { openConnection, openOutage, whenReady } from './connection.ts'
import type { Feed } from '../feed.ts'
import type { Loop } from '../../loop.ts'
import type { Delivery } from '../../outbox/delivery.ts'
import type { RedisFeedOptions } from './options.ts'
import { feedDeliveries } from './deliveries.ts'
import { openDirect } from './direct.ts'
import { GroupConnection } from './group-connection.ts'
import { openReader } from './reader.ts'
import { openRepair } from './repair.ts'
import { streamsOf } from './streams.ts'
import { openTaker, type Taker } from './take.ts'

const CHECK_TIMEOUT_MS = 3000

export interface RedisFeed extends Feed {
  /** Whether it will announce what is submitted now by itself, or leaves it to the outbox. */
  announcesFresh(): boolean
  /** The outbox's rows that announce jobs. */
  deliveries: readonly Delivery[]
}

export function openRedisFeed(options: RedisFeedOptions): RedisFeed {
  const outage = openOutage(options.log)
  const commands = openConnection(options.url, 'reeve-feed', outage)
  const acknowledge = openAcknowledge(commands, options)
  const announcer = openAnnouncer(commands, options)
  const direct = openDirect(announcer, options)
  const repair = openRepair(commands, options, announcer)
  const open = new Map<string, { connection: GroupConnection; taker: Taker }>()

  const takerOf = (kind: string): Taker => {
    const known = open.get(kind)
    if (known !== undefined) return known.taker
    const { url, log } = options
    const { group, judgeKey } = options.streams
    const streams = streamsOf(kind, judgeKey)
    const connection = new GroupConnection({
      url,
      name: `reeve-feed-${kind}`,
      group,
      streams: streams.keys,
      commands,
      outage,
      log: log.child({ kind }),
      onLoss: () => repair.startOver(kind),
    })
    const reader = openReader(connection, streams, options)
    const taker = openTaker(reader, { options, kind, announcer, acknowledge: (entry) => acknowledge(streams, entry) })
    open.set(kind, { connection, taker })
    return taker
  }

  const reclaim = (kinds: readonly string[]): Loop => ({
    name: 'take over abandoned entries',
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
    deliveries: feedDeliveries(announcer),

    async check() {
      try {
        await whenReady(commands, CHECK_TIMEOUT_MS)
        await commands.ping()
      } catch (error) {
        throw new Error(`Redis cannot be used: ${error instanceof Error ? error.message : String(error)}`, {
          cause: error,
        })
      }
    },

    async close() {
      await direct.close()
      for (const { connection } of open.values()) connection.close()
      await Promise.all([...open.values()].map(({ taker }) => taker.close()))
      commands.disconnect()
    },
  }
}
