// A database (and a Redis) of its own, processes that work on it, and the claim that all of these tests make: every job that
// was accepted has ended, once.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { Redis } from 'ioredis'
import { openDatabase, type Database } from '../../src/core/db/database.ts'
import { openPostgresBus } from '../../src/core/events/postgres-bus.ts'
import { openLedger, type Ledger, type LedgerOptions } from '../../src/core/ledger/ledger.ts'
import { atEnd } from '../support/cleanup.ts'
import { freshDatabase } from '../support/database.ts'
import { startRedis, type PgConnection } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { startPeer, type Peer } from './peer.ts'
import { openReadySet } from './ready-set.ts'
import { openStreams, type Streams } from './streams.ts'
import type { SubmitterOptions } from './submitter-process.ts'
import type { WorkerOptions } from './worker-process.ts'

const ALL_FEEDS = ['PostgreSQL', 'PostgreSQL + Redis'] as const
export type FeedName = (typeof ALL_FEEDS)[number]

const onlyFeed = process.env['REEVE_TEST_FEED']
export const FEEDS = ALL_FEEDS.filter((feed) => onlyFeed === undefined || onlyFeed === feed)

/** With Redis, jobs wait in a sorted set, or, as those of the judge, in streams. */
const ALL_FORMS = [...ALL_FEEDS, 'PostgreSQL + Redis streams'] as const
export type FeedForm = (typeof ALL_FORMS)[number]
export const FEED_FORMS = ALL_FORMS.filter((form) => onlyFeed === undefined || onlyFeed === form)

/** A hanging test fails in time to clean up after itself. */
export const TIMEOUT = { timeout: 120_000 }

const WORKER = new URL('worker-process.ts', import.meta.url)
const SUBMITTER = new URL('submitter-process.ts', import.meta.url)

const PEER = 'peer' // what the connections of other processes are called
const LEASE_SEC = 3
const SETTINGS = {
  JOB_HEARTBEAT_SEC: '1',
  JOB_RECLAIM_GRACE_SEC: '0',
  JOB_RECLAIM_INTERVAL_SEC: '1',
  JOB_RECLAIM_COUNT: '500',
  JOB_MAX_ATTEMPTS: '1000', // a job may be unlucky more than five times; none of these tests is about burying
}

// What is wrong with each job: nothing, hopefully. Attempts that ended without a result have a row each.
const FIND_WRONG = `
  select job_id, state, attempt_id, effects, result_of, past from (
    select j.job_id, j.state, j.attempt_id, (j.result->>'attempt_id')::integer as result_of,
           array(select e.attempt_id from effects e where e.job_id = j.job_id) as effects,
           array(select a.attempt_id || ' ' || a.outcome from attempts a where a.job_id = j.job_id order by a.attempt_id) as past
      from jobs j) as seen
   where state <> 'done' or effects <> array[attempt_id] or result_of is distinct from attempt_id
      or past <> array(select number || ' lease_expired' from generate_series(1, attempt_id - 1) as number)`

export interface Rig {
  kind: string
  database: Database
  /** In this process: it submits and reads, and nothing announces what it submits but the outbox. */
  ledger: Ledger
  /** Null with PostgreSQL as the feed. */
  redis: Redis | null
  streams: Streams | null
  submit(count: number, msOf?: (index: number) => number): Promise<string[]>
  worker(options?: Partial<WorkerOptions> & { slots?: number }): Peer
  submitter(does: SubmitterOptions['does']): Peer
  countDone(): Promise<number>
  /** The last statement of a process that was killed may end, and commit, after its death. */
  untilAllGone(): Promise<void>
  /** The holders are known to be dead: nobody needs to wait until what they had claimed is free again. */
  buryHolders(): Promise<void>
  /** The same for rows of the outbox: who delivers them has a minute, which is longer than a test. */
  freeOutbox(): Promise<unknown>
  untilAllEnded(): Promise<void>
  /** These and all others, exactly once, and nothing of them is left anywhere. */
  assertEndedOnce(jobIds: readonly string[]): Promise<void>
}

export interface RigOptions {
  at?: PgConnection
  redisUrl?: string
  /** Long where a slow machine must not cost a living worker its lease. */
  leaseSec?: number
}

export async function setup(t: TestContext, feed: FeedForm, options: RigOptions = {}): Promise<Rig> {
  const kind = `crash-${randomBytes(4).toString('hex')}`
  const at = options.at ?? (await freshDatabase())
  const redisUrl = feed === 'PostgreSQL' ? null : (options.redisUrl ?? (await redisFor(t)))
  const database = openDatabase(at, () => {})
  atEnd(t, () => database.close())
  await database.query('create table effects (job_id uuid not null, attempt_id integer not null)')
  const ledger = await ledgerOn(t, database, redisUrl !== null)
  const hasStreams = feed === 'PostgreSQL + Redis streams'
  const open = hasStreams ? openStreams : openReadySet
  const streams = redisUrl === null ? null : open(t, redisUrl, kind)
  const streamKeys = hasStreams && streams !== null ? { [kind]: streams.key } : {}

  const redisSettings = redisUrl === null ? {} : { REDIS_URL: redisUrl }
  const leaseSec = options.leaseSec ?? LEASE_SEC
  const settings = { ...SETTINGS, JOB_LEASE_SEC: String(leaseSec), DATABASE_URL: urlOf(at), ...redisSettings }
  const worker: Rig['worker'] = ({ slots = 10, ...more } = {}) => {
    const withSlots = { ...settings, WORK_CONCURRENCY: String(slots) }
    return startPeer(t, WORKER, {
      kind,
      role: 'work',
      ...more,
      settings: withSlots,
      streamKeys,
    } satisfies WorkerOptions)
  }
  const submitter: Rig['submitter'] = (does) =>
    startPeer(t, SUBMITTER, { kind, does, settings, streamKeys } satisfies SubmitterOptions)

  return {
    kind,
    database,
    ledger,
    redis: streams?.redis ?? null,
    streams,
    worker,
    submitter,
    submit: async (count, msOf = () => 0) => {
      const jobs = Array.from({ length: count }, (_, index) => ({ kind, payload: { ms: msOf(index) } }))
      const answers = await ledger.submitMany(jobs)
      return answers.flatMap((answer) => (answer.ok ? [answer.jobId] : []))
    },
    ...watching(database, streams, { isLong: leaseSec > LEASE_SEC }),
  }
}

function watching(database: Database, streams: Streams | null, { isLong }: { isLong: boolean }) {
  const count = async (condition: string): Promise<number> => {
    const [row] = await database.query<{ count: number }>(`select count(*)::integer as count from ${condition}`)
    assert(row !== undefined)
    return row.count
  }
  const untilAllEnded = () =>
    until(
      'every job has ended',
      async () => (await count(`jobs where state not in ('done', 'dead')`)) === 0,
      async () => ({
        unended: await database.query(`select * from jobs where state not in ('done', 'dead') limit 5`),
        outbox: await database.query(`select * from outbox_events where status <> 'delivered' limit 5`),
        streams: await streams?.dump(),
      }),
    )
  const freeOutbox = () => database.query('update outbox_events set next_attempt_at = clock_timestamp()')
  return {
    untilAllGone: () =>
      until('no connection is left', async () => {
        return (
          (await count(`pg_stat_activity where datname = current_database() and application_name = '${PEER}'`)) === 0
        )
      }),
    countDone: () => count(`jobs where state = 'done'`),
    async buryHolders() {
      await database.query(`update jobs set lease_until = clock_timestamp() where state = 'processing'`)
      await database.query(`update jobs set submitted_at = submitted_at - interval '1 hour' where state = 'pending'`)
      await freeOutbox()
      await streams?.letLie()
    },
    freeOutbox,
    untilAllEnded,
    async assertEndedOnce(jobIds: readonly string[]) {
      await untilAllEnded()
      assert.deepEqual(await database.query(FIND_WRONG), [])
      const lost = await database.query(
        'select id from unnest($1::uuid[]) as id where id not in (select job_id from jobs)',
        [jobIds],
      )
      assert.deepEqual(lost, [])
      assert.equal(await count('effects'), await count('jobs'))
      if (isLong) await streams?.letLie() // what is left of repeated entries waits for a lease
      await until(
        'the outbox is delivered',
        async () => (await count(`outbox_events where status <> 'delivered'`)) === 0,
      )
      if (streams !== null)
        await until('nothing is pending', async () => (await streams.pendingJobs()).length === 0, streams.dump)
    },
  }
}

async function redisFor(t: TestContext): Promise<string> {
  const server = await startRedis()
  atEnd(t, server.stop)
  return server.at
}

async function ledgerOn(t: TestContext, database: Database, announceByOutbox: boolean): Promise<Ledger> {
  const { ledger, close } = await openQuietLedger(database, { announceByOutbox })
  atEnd(t, close)
  return ledger
}

/** Whatever it makes ready, it tells nobody unless the options say so. */
export async function openQuietLedger(
  database: Database,
  options: Pick<LedgerOptions, 'announceByOutbox' | 'hintWithin' | 'announcesFresh'>,
) {
  const bus = await openPostgresBus(database, () => {})
  const ignore = () => {}
  const ledger = openLedger({
    database,
    bus,
    maxAttempts: 1000,
    ageingSec: 60,
    onReady: ignore,
    onOutbox: ignore,
    ...options,
  })
  const close = async () => {
    ledger.close()
    await bus.close()
  }
  return { ledger, close }
}

/** By socket: the path is not a host that a URL could name. */
const urlOf = ({ host, port, user, database }: PgConnection): string =>
  `postgres:///${database}?host=${encodeURIComponent(host)}&port=${port}&user=${user}&application_name=${PEER}`
