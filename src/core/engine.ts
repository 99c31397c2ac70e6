// The engine: ledger, feed, outbox and events on one database, wired together. A server opens its doors on it; a command
// uses it by itself.
import type { Logger } from 'pino'
import { CloseStack } from './concurrency/close-stack.ts'
import { redisUrl, type Config } from './config.ts'
import type { Database } from './db/database.ts'
import { openEvents, type Events } from './events/events.ts'
import type { Bus } from './events/bus.ts'
import { openPostgresBus } from './events/postgres-bus.ts'
import { openRedisBus } from './events/redis-bus.ts'
import type { Feed } from './feed/feed.ts'
import { openPostgresFeed } from './feed/postgres-feed.ts'
import { openRedisFeed, type RedisFeed } from './feed/redis/feed.ts'
import { openDeaths, type Deaths } from './executor/deaths.ts'
import { buryJob, Kinds } from './executor/endings.ts'
import type { Kind } from './executor/kind.ts'
import { openExecutorMetrics, type ExecutorMetrics } from './executor/metrics.ts'
import { openLedger, type Ledger, type LedgerOptions } from './ledger/ledger.ts'
import { ownerName } from './log/log.ts'
import type { Metrics } from './metrics.ts'
import type { Delivery, Transfer } from './outbox/delivery.ts'
import { settleDelivered, type Dispatcher } from './outbox/dispatcher.ts'
import { openOutbox, type Outbox } from './outbox/outbox.ts'
import { openOutbound, type Outbound } from './outbound/outbound.ts'
import { openDeliveries, type Deliveries } from './deliveries/deliveries.ts'
import { Capabilities } from './capabilities.ts'
import { systemClock } from './clock.ts'
import type { Deps } from './door.ts'
import { openQuotas, type Quotas } from './quotas/quotas.ts'
import { StartError } from './start-error.ts'
import { openTraces, type Traces } from './traces/traces.ts'
import { openDueCheck, type DueCheck } from './due-check.ts'
import { Wake } from './loop.ts'
import { DUE_SOON_MS } from './upkeep.ts'

export interface Engine {
  ledger: Ledger
  events: Events
  bus: Bus
  feed: Feed
  kinds: Kinds
  owner: string
  /** For people: what carries hints and events. */
  about: string
  executorMetrics: ExecutorMetrics
  /** Adds kinds of jobs of this process. */
  addKinds(kinds: readonly Kind[]): void
  /** The core's own topics of the outbox. Doors add theirs. */
  topics: readonly (Delivery | Transfer)[]
  /** Rings when a job was delayed by a short time. */
  delayed: Wake
  /** Asks for all loops whether there is something to do. */
  dueCheck: DueCheck
  quotas: Quotas
  outbox: Outbox
  outbound: Outbound
  /** Signed requests. */
  deliveries: Deliveries
  /** Null: off. */
  traces: Traces | null
  /** Sets what `outbox.wake` wakes. */
  onOutbox(wake: Dispatcher['wake']): void
  close(): Promise<void>
}

/** What doors get: the parts of an engine that they use, and what is opened beside it. */
export function depsOf(
  { ledger, events, bus, quotas, outbox, outbound, deliveries }: Engine,
  beside: Pick<Deps, 'config' | 'database' | 'files' | 'identity' | 'metrics' | 'log'>,
): Deps {
  const engineParts = { ledger, events, bus, quotas, outbox, outbound, deliveries }
  return { ...beside, ...engineParts, clock: systemClock, capabilities: new Capabilities() }
}

const REPAIR_EVERY_MS_MAX = 5000
const REPAIR_AGE_MS_MAX = 30_000
const FORGET_CONSUMERS_MS = 86_400_000

interface EngineDeps {
  config: Config
  database: Database
  metrics: Metrics
  log: Logger
  /** Redis streams that have a key of their own, by kind. */
  streamKeys?: Readonly<Record<string, string>>
}

export async function openEngine({ config, database, metrics, log, streamKeys = {} }: EngineDeps): Promise<Engine> {
  const redis = redisUrl(config)
  const logError = (error: unknown) => log.error({ err: error }, 'events')
  const bus = redis === null ? await openPostgresBus(database, logError) : await openRedisBusOrExplain(redis, logError)
  const executorMetrics = openExecutorMetrics(metrics)
  const owner = ownerName(config)
  const kinds = new Kinds()
  const delayed = new Wake()
  let wakeDispatcher: Dispatcher['wake'] = () => {}
  const traces = openTraces({ config, metrics, log, instance: owner, ledger: () => ledger })
  const outgoing = openOutgoing({ config, database, log, traces, ledger: () => ledger }, () => wakeDispatcher(null))
  const deaths = openDeaths({ ledger: () => ledger, metrics, log })
  // Of other kinds nobody takes jobs from the feed. A kind that is unknown here may be run by another process.
  const announces = (kind: string) => kinds.get(kind)?.run !== undefined || kinds.get(kind) === undefined

  // The ledger announces through the feed and the feed acquires from the ledger: one of them must be named first.
  const ledger: Ledger = openLedger({
    database,
    bus,
    maxAttempts: config.JOB_MAX_ATTEMPTS,
    ageingSec: config.JOB_AGEING_SEC,
    announceByOutbox: redis !== null,
    announcesFresh: () => redisFeed?.announcesFresh() ?? false,
    onReady: (kinds, fresh) => feed.hint(kinds, fresh),
    hintWithin: (kinds) => feed.hintWithin?.(kinds) ?? null,
    onOutbox: (topics) => wakeDispatcher(topics),
    ...watchJobs(deaths, traces),
    onDelayed: (delayMs) => delayMs <= DUE_SOON_MS && delayed.ring(),
  })
  const common = { ledger: () => ledger, owner, leaseMs: config.JOB_LEASE_SEC * 1000, announces }
  const redisFeed: RedisFeed | null =
    redis === null
      ? null
      : openRedisFeed({
          ...common,
          url: redis,
          ...streamSettings(config, owner, streamKeys),
          metrics: executorMetrics,
          log,
          wakeDispatcher: () => wakeDispatcher(null),
          keepsOutboxRows: config.OUTBOX_KEPT_DAYS > 0,
          onAnnounced: (rows) => settleDelivered(database.hot, rows, config.OUTBOX_KEPT_DAYS > 0),
          bury: (jobId, reason) => buryJob(ledger, kinds, jobId, reason),
        })
  const feed: Feed = redisFeed ?? openPostgresFeed({ ...common, bus, metrics: executorMetrics })
  const events = openEvents(database, bus, logError)
  const quotas = openQuotas({ database, config })
  const closing = closeInTurn(log, { deaths, traces, quotas, bus, feed, ledger })

  return {
    ledger,
    events,
    bus,
    feed,
    kinds,
    owner,
    about: redis === null ? 'PostgreSQL (LISTEN/NOTIFY)' : `Redis at ${new URL(redis).host}`,
    executorMetrics,
    addKinds: (added) => addKinds(added, { kinds, deaths, executorMetrics }),
    topics: [events.transfer, ...(redisFeed?.deliveries ?? [])],
    delayed,
    dueCheck: openDueCheck(database.hot),
    quotas,
    traces,
    ...outgoing,
    onOutbox: (wake) => void (wakeDispatcher = wake),
    close: () => closing.close(),
  }
}

const watchJobs = (deaths: Deaths, traces: Traces | null): Pick<LedgerOptions, 'onSubmit' | 'onEnded'> => ({
  onSubmit: traces?.onSubmit,
  onEnded(jobIds, ending) {
    deaths.onEnded(jobIds, ending)
    traces?.onEnded(jobIds)
  },
})

/** The last of them first. */
function closeInTurn(
  log: Logger,
  parts: Readonly<Record<string, { close(): void | Promise<void> } | null>>,
): CloseStack {
  const closing = new CloseStack(log)
  for (const [name, part] of Object.entries(parts)) if (part !== null) closing.push(name, () => part.close())
  return closing
}

/** Their metrics have a value from now on, so that an alert can tell 0 from nothing. */
function addKinds(
  added: readonly Kind[],
  { kinds, deaths, executorMetrics }: Pick<Engine, 'kinds' | 'executorMetrics'> & { deaths: Deaths },
): void {
  kinds.add(added)
  for (const { name, run } of added) if (run !== undefined) executorMetrics.slots.set({ kind: name }, 0)
  deaths.expect(added.map(({ name }) => name))
}

/** What leaves this deployment: rows of the outbox, and requests through the guard. */
function openOutgoing(
  {
    config,
    database,
    log,
    traces,
    ledger,
  }: Pick<EngineDeps, 'config' | 'database' | 'log'> & Pick<Engine, 'traces'> & { ledger: () => Ledger },
  wake: () => void,
) {
  const outbox = openOutbox(database, wake)
  const outbound = openOutbound({ allowCidrs: config.OUTBOUND_ALLOW_CIDRS, caFile: config.OUTBOUND_CA_FILE })
  const slowRetries = config.CALLBACK_SLOW_RETRIES
  const deliveries = openDeliveries({
    database,
    outbox,
    outbound,
    clock: systemClock,
    log,
    slowRetries,
    ledger,
    traces: traces?.deliveries ?? null,
  })
  return { outbox, outbound, deliveries }
}

const streamSettings = (config: Config, consumer: string, keys: Readonly<Record<string, string>>) => ({
  ageingSec: config.JOB_AGEING_SEC,
  payloadTtlSec: config.JOB_PAYLOAD_TTL_SEC,
  streams: {
    keys,
    group: config.JOB_STREAM_GROUP,
    consumer,
    maxLength: config.JOB_STREAM_MAXLEN,
  },
  reclaim: {
    everyMs: config.JOB_RECLAIM_INTERVAL_SEC * 1000,
    count: config.JOB_RECLAIM_COUNT,
    graceMs: config.JOB_RECLAIM_GRACE_SEC * 1000,
  },
  repair: {
    everyMs: Math.min(REPAIR_EVERY_MS_MAX, config.JOB_RECLAIM_INTERVAL_SEC * 1000),
    // A lost job comes back as soon as an abandoned one.
    olderThanMs: Math.min(REPAIR_AGE_MS_MAX, (config.JOB_LEASE_SEC + config.JOB_RECLAIM_GRACE_SEC) * 1000),
    forgetConsumersMs: FORGET_CONSUMERS_MS,
  },
})

async function openRedisBusOrExplain(url: string, log: (error: unknown) => void): Promise<Bus> {
  try {
    return await openRedisBus(url, log)
  } catch (error) {
    const why = error instanceof Error ? error.message : 'no answer'
    throw new StartError(
      `Cannot use Redis at ${new URL(url).host}: ${why}. Check REDIS_URL, or leave it empty to do without.`,
    )
  }
}
