// A network that drops packets and tells nobody. A worker whose connections are dead must notice by itself, and go on within
// the bound of docs/how-it-works.md once the network is whole again.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { pino } from 'pino'
import { parseConfig } from '../../src/core/config.ts'
import { openDatabase } from '../../src/core/db/database.ts'
import { openEngine } from '../../src/core/engine.ts'
import { openBackground } from '../../src/core/executor/background.ts'
import { Wake } from '../../src/core/loop.ts'
import { openMetrics } from '../../src/core/metrics.ts'
import { openDispatcher } from '../../src/core/outbox/dispatcher.ts'
import { openOutboxMetrics } from '../../src/core/outbox/metrics.ts'
import { upkeepLoops } from '../../src/core/upkeep.ts'
import { shortId } from '../feed/rig.ts'
import { atEnd } from '../support/cleanup.ts'
import { testDatabase } from '../support/database.ts'
import { socketOf, startProxy, type Proxy } from '../support/proxy.ts'
import { sharedRedis, type PgConnection } from '../support/servers.ts'
import { until } from '../support/until.ts'

const LEASE_SEC = 3
const GRACE_SEC = 1
const INTERVAL_SEC = 1
const PATIENCE = { timeoutMs: 60_000 }

interface Side {
  database: PgConnection | string
  redis: string | null
  group: string
}

/** A worker, or with no kind a process that submits and watches. */
async function open(t: TestContext, { database: at, redis, group }: Side, kind: string | null) {
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(line) })
  const { core: config } = parseConfig(
    {
      JOB_LEASE_SEC: String(LEASE_SEC),
      JOB_HEARTBEAT_SEC: '1',
      JOB_RECLAIM_GRACE_SEC: String(GRACE_SEC),
      JOB_RECLAIM_INTERVAL_SEC: String(INTERVAL_SEC),
      JOB_STREAM_GROUP: group,
      WORKER_ID: kind === null ? 'watcher' : 'worker',
      ...(redis === null ? {} : { REDIS_URL: redis }),
    },
    {},
  )
  const database = openDatabase(at, (error) => log.warn({ err: error }, 'a database connection broke'))
  const metrics = openMetrics()
  const engine = await openEngine({ config, database, metrics, log })
  const outbox = openDispatcher(database, engine.topics, openOutboxMetrics(metrics))
  engine.onOutbox(outbox.wake)
  const kinds = kind === null ? [] : [{ name: kind, run: async () => ({ result: 1 }) }]
  engine.kinds.add(kinds)
  const upkeep = kind === null ? [] : upkeepLoops({ ...engine, buryEveryMs: 1000 })
  const background = openBackground({
    config,
    engine,
    kinds,
    loops: [...engine.ledger.loops, ...outbox.loops, ...upkeep],
    log,
  })
  background.start()
  atEnd(t, async () => {
    await background.stop()
    await engine.close()
    await database.close()
  })
  return { ledger: engine.ledger, has: (text: string) => lines.some((line) => line.includes(text)) }
}

async function setup(t: TestContext, feed: 'PostgreSQL' | 'Redis') {
  const { at } = await testDatabase(t)
  const kind = `echo-${shortId()}`
  const group = `test:${shortId()}`
  const postgres = await startProxy(t, socketOf(at))
  const proxies: Proxy[] = [postgres]
  const watched: Side = { database: at, redis: null, group }
  const proxied: Side = {
    database: `postgres://${at.user}@127.0.0.1:${postgres.port}/${at.database}`,
    redis: null,
    group,
  }
  if (feed === 'Redis') {
    watched.redis = await sharedRedis()
    const { hostname, port } = new URL(watched.redis)
    const redis = await startProxy(t, { host: hostname, port: Number(port) })
    proxied.redis = `redis://127.0.0.1:${redis.port}`
    proxies.push(redis)
  }
  const watcher = await open(t, watched, null)
  const worker = await open(t, proxied, kind)
  const submit = async () => {
    const answer = await watcher.ledger.submit({ kind, payload: 1 })
    assert(answer.ok)
    return answer.jobId
  }
  return { ...watcher, worker, proxies, submit }
}

const BOUNDS = {
  PostgreSQL: LEASE_SEC + 5,
  Redis: LEASE_SEC + GRACE_SEC + INTERVAL_SEC + 5,
} as const

describe('a silent partition', () => {
  for (const feed of ['PostgreSQL', 'Redis'] as const) {
    test(`work goes on within ${BOUNDS[feed]} s of its end (${feed} feed)`, async (t) => {
      const { ledger, worker, proxies, submit } = await setup(t, feed)
      assert.equal((await ledger.awaitEnd(await submit(), PATIENCE))?.state, 'done')

      for (const proxy of proxies) proxy.partition()
      const jobId = await submit()
      await until('the worker notices', () => worker.has('gave no answer for'))
      if (feed === 'Redis') await until('the worker misses Redis', () => worker.has('Redis cannot be used'))
      for (const proxy of proxies) proxy.heal()
      const healed = performance.now()
      const job = await ledger.awaitEnd(jobId, PATIENCE)

      assert.equal(job?.state, 'done')
      const tookSec = (performance.now() - healed) / 1000
      assert(tookSec < BOUNDS[feed], `it took ${tookSec} s`)
    })
  }
})

describe('connections that nobody uses during a partition', () => {
  test('are closed with the first one that is found dead, and not tried one after the other', async (t) => {
    const { at } = await testDatabase(t)
    const proxy = await startProxy(t, socketOf(at))
    const found: string[] = []
    const address = `postgres://${at.user}@127.0.0.1:${proxy.port}/${at.database}`
    const database = openDatabase(address, ({ message }) => found.push(message))
    atEnd(t, () => database.close())
    const three = () => Promise.all([1, 2, 3].map(() => database.query('select pg_sleep(0.1)')))
    await three()
    proxy.partition()
    await assert.rejects(database.query('select 1'))
    proxy.heal()

    await three()

    assert.equal(found.filter((message) => message.includes('gave no answer for')).length, 1)
  })
})

describe('a transaction whose client is behind the partition', () => {
  test('releases its locks after 5 s, not after a minute or when the network is back', async (t) => {
    const { database, at } = await testDatabase(t)
    const watcher = await open(t, { database: at, redis: null, group: 'none' }, null)
    const submitted = await watcher.ledger.submit({ kind: 'echo', payload: 1 })
    assert(submitted.ok)
    const proxy = await startProxy(t, socketOf(at))
    const lost = openDatabase(`postgres://${at.user}@127.0.0.1:${proxy.port}/${at.database}`, () => {})
    const lock = 'select from jobs where job_id = $1 for update'
    const [held, goOn] = [new Wake(), new Wake()]
    const losing = lost.transaction(async (tx) => {
      await tx.query(lock, [submitted.jobId])
      proxy.partition()
      held.ring()
      await goOn.wait(PATIENCE.timeoutMs)
    })
    await held.wait(PATIENCE.timeoutMs)

    await database.query(lock, [submitted.jobId])

    goOn.ring()
    proxy.heal()
    await assert.rejects(losing)
    await lost.close()
    const [row] = await database.query(`
      select setting::integer <= 5000 as is_short from pg_settings where name = 'idle_in_transaction_session_timeout'`)
    assert.deepEqual(row, { is_short: true })
  })
})

describe('an answer that is lost', () => {
  test('a finalize that is repeated because the answer to its commit was lost has its effects once', async (t) => {
    const { database, at } = await testDatabase(t)
    await database.query('create table if not exists effects (job_id uuid not null)')
    const proxy = await startProxy(t, socketOf(at))
    const watcher = await open(t, { database: at, redis: null, group: 'none' }, null)
    const { ledger } = await open(
      t,
      { database: `postgres://${at.user}@127.0.0.1:${proxy.port}/${at.database}`, redis: null, group: 'none' },
      null,
    )
    const submitted = await watcher.ledger.submit({ kind: 'echo', payload: 1 })
    assert(submitted.ok)
    const { jobId } = submitted
    const acquired = await ledger.acquire({ jobId, owner: 'w1', leaseMs: 60_000 })
    assert(acquired.ok)
    const sql = `insert into effects (job_id) select job_id from json_to_recordset($1) as r (job_id uuid)`
    const finalize = () =>
      ledger.finalize({ jobId, attemptId: 1, owner: 'w1', result: 1, effects: [{ sql, row: { job_id: jobId } }] })

    proxy.cutAfter((bytes) => bytes.includes('commit'))
    await assert.rejects(finalize())
    await until('the commit happened', async () => (await watcher.ledger.get(jobId))?.state === 'done')
    const again = await finalize()

    assert.deepEqual(again, { ok: false, code: 'already_finished' })
    const [count] = await database.query('select count(*)::integer as n from effects where job_id = $1', [jobId])
    assert.deepEqual(count, { n: 1 })
  })
})
