// A feed on a database of its own, with short words for what a test arranges. The PostgreSQL rig and the Redis rig look
// alike, so that one suite can run on both.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { Database } from '../../src/core/db/database.ts'
import type { Bus } from '../../src/core/events/bus.ts'
import { openPostgresBus } from '../../src/core/events/postgres-bus.ts'
import type { Feed } from '../../src/core/feed/feed.ts'
import { openPostgresFeed } from '../../src/core/feed/postgres-feed.ts'
import { openRedisFeed, type RedisFeed } from '../../src/core/feed/redis/feed.ts'
import type { RedisFeedOptions } from '../../src/core/feed/redis/options.ts'
import { openExecutorMetrics, type ExecutorMetrics } from '../../src/core/executor/metrics.ts'
import { openLedger, type LedgerOptions, type Ledger } from '../../src/core/ledger/ledger.ts'
import type { NewJob } from '../../src/core/ledger/submit/submit.ts'
import { runLoop } from '../../src/core/loop.ts'
import { openDispatcher } from '../../src/core/outbox/dispatcher.ts'
import { openOutboxMetrics } from '../../src/core/outbox/metrics.ts'
import { atEnd } from '../support/cleanup.ts'
import { testDatabase } from '../support/database.ts'
import { sharedRedis } from '../support/servers.ts'

export const LEASE_MS = 60_000

export interface Rig {
  kind: string
  feed: Feed
  ledger: Ledger
  bus: Bus
  database: Database
  /** Another process's feed on the same ledger. */
  another(owner: string): Promise<Feed>
  submit(job?: Partial<NewJob>): Promise<string>
  /** Its holder is gone, for so long that everybody may notice. */
  abandon(jobId: string): Promise<void>
  /** One pass of each of the feed's loops. */
  pass(feed: Feed): Promise<void>
}

const NEVER = new AbortController().signal

export const shortId = () => randomBytes(5).toString('hex')

async function setup(
  t: TestContext,
  kind: string,
  options: Pick<LedgerOptions, 'announceByOutbox' | 'onReady' | 'hintWithin'>,
) {
  const { database } = await testDatabase(t)
  const bus = await openPostgresBus(database, (error) => assert.fail(String(error)))
  const ledger = openLedger({ database, bus, maxAttempts: 5, ageingSec: 60, onOutbox: () => {}, ...options })
  atEnd(t, async () => {
    ledger.close()
    await bus.close()
  })
  const submit = async (job: Partial<NewJob> = {}) => {
    const answer = await ledger.submit({ kind, payload: { n: 1 }, ...job })
    assert(answer.ok)
    return answer.jobId
  }
  const expireLease = async (jobId: string) => {
    await database.query(`update jobs set lease_until = clock_timestamp() - interval '1 ms' where job_id = $1`, [jobId])
  }
  const pass = async (feed: Feed) => {
    for (const loop of feed.loops([kind])) await loop.runOnce(NEVER)
  }
  return { database, bus, ledger, submit, expireLease, pass }
}

export interface PostgresRigOptions {
  wrapBus?: (bus: Bus) => Bus
  wrapLedger?: (ledger: Ledger) => Ledger
}

export async function postgresRig(t: TestContext, options: PostgresRigOptions = {}): Promise<Rig> {
  const kind = 'echo'
  const feeds: Feed[] = []
  const base = await setup(t, kind, {
    announceByOutbox: false,
    onReady: (kinds) => feeds[0]?.hint(kinds),
    hintWithin: (kinds) => feeds[0]?.hintWithin?.(kinds) ?? null,
  })
  const { ledger } = base
  const bus = options.wrapBus?.(base.bus) ?? base.bus
  const taken = options.wrapLedger?.(ledger) ?? ledger
  const another = async (owner: string) => {
    const metrics = openExecutorMetrics(new Registry())
    const feed = openPostgresFeed({
      ledger: () => taken,
      bus,
      owner,
      leaseMs: LEASE_MS,
      metrics,
    })
    feeds.push(feed)
    atEnd(t, () => feed.close())
    return feed
  }
  return { ...base, kind, feed: await another('w1'), another, abandon: base.expireLease }
}

export interface RedisRig extends Rig {
  feed: RedisFeed
  redis: Redis
  /** Streams, highest first. */
  keys: readonly [high: string, normal: string, low: string]
  group: string
  metrics: ExecutorMetrics
  errors: string[]
  another(owner: string): Promise<RedisFeed>
  /** Makes every entry that was read look as if it had lain for hours. */
  letLie(): Promise<void>
  expireLease(jobId: string): Promise<void>
  /** Entries read and not acknowledged: `[id, consumer]`. */
  pending(key?: string): Promise<[id: string, consumer: string][]>
}

export interface RedisRigOptions {
  url?: string
  kind?: string
  /** In streams, or in a sorted set. */
  form?: 'streams' | 'ready'
  feed?: Partial<RedisFeedOptions>
  wrapLedger?: (ledger: Ledger) => Ledger
  /** Of the lines in `errors`. */
  logLevel?: 'warn' | 'error'
}

/** Its own stream keys, because the Redis is everybody's. The kind's name is part of them. */
export async function redisRig(t: TestContext, options: RedisRigOptions = {}): Promise<RedisRig> {
  const url = options.url ?? (await sharedRedis())
  const kind = options.kind ?? `echo-${shortId()}`
  const judgeKey = `test:${shortId()}:jobs`
  const key = kind === 'judge' ? judgeKey : `reeve:jobs:${kind}`
  const streamKeys = options.form === 'ready' ? {} : { [kind]: key }
  const group = `test:${shortId()}:workers`
  let wake = () => {}
  const base = await setup(t, kind, { announceByOutbox: true, onReady: () => wake() })
  const ledger = options.wrapLedger?.(base.ledger) ?? base.ledger
  const redis = new Redis(url, { maxRetriesPerRequest: null })
  redis.on('error', () => {})
  atEnd(t, () => redis.disconnect())

  const errors: string[] = []
  const log = pino({ level: options.logLevel ?? 'error' }, { write: (line: string) => errors.push(line) })
  const metrics = openExecutorMetrics(new Registry())
  const another = async (owner: string) => {
    const feed = openRedisFeed({
      url,
      ledger: () => ledger,
      owner,
      leaseMs: LEASE_MS,
      ageingSec: 60,
      payloadTtlSec: 86_400,
      streams: { keys: streamKeys, group, consumer: owner, maxLength: 200_000 },
      reclaim: { everyMs: 5000, count: 16, graceMs: 15_000 },
      repair: { everyMs: 5000, olderThanMs: 0, forgetConsumersMs: 86_400_000 },
      metrics,
      log,
      wakeDispatcher: () => wake(),
      ...options.feed,
    })
    atEnd(t, () => feed.close())
    await feed.check()
    return feed
  }
  const feed = await another('w1')
  wake = runDispatcher(t, base.database, feed)

  const keys: RedisRig['keys'] = [`${key}:high`, key, `${key}:low`]
  const pending = async (of = key): Promise<[string, string][]> => {
    const rows: unknown = await redis.call('XPENDING', of, group, '-', '+', 10_000)
    return Array.isArray(rows) ? rows.map(([id, consumer]) => [String(id), String(consumer)]) : []
  }
  const letLie = async () => {
    for (const of of keys) {
      for (const [id, consumer] of await pending(of)) {
        await redis.call('XCLAIM', of, group, consumer, 0, id, 'IDLE', 10_000_000, 'JUSTID')
      }
    }
  }
  const abandon = async (jobId: string) => {
    await base.expireLease(jobId)
    if (options.form !== 'ready') await letLie()
  }
  return { ...base, kind, feed, another, abandon, redis, keys, group, metrics, errors, letLie, pending }
}

/** The outbox at work, as in a server. Returns how to wake it. */
function runDispatcher(t: TestContext, database: Database, feed: RedisFeed): () => void {
  const dispatcher = openDispatcher(database, feed.deliveries, openOutboxMetrics(new Registry()))
  const stopping = new AbortController()
  const running = dispatcher.loops.map((loop) => runLoop(loop, stopping.signal, () => {}))
  atEnd(t, async () => {
    stopping.abort()
    await Promise.all(running)
  })
  return () => dispatcher.wake(null)
}
