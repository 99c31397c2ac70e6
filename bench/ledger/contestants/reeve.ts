// Reeve itself: the engine as the server opens it, with one kind of job that does nothing. The producer calls the ledger as a
// door would; the worker is the background of a process that works.
import pino from 'pino'
import { parseConfig } from '../../../dist/core/config.js'
import { openDatabase, type Database } from '../../../dist/core/db/database.js'
import { openEngine } from '../../../dist/core/engine.js'
import { openBackground } from '../../../dist/core/executor/background.js'
import { openMetrics } from '../../../dist/core/metrics.js'
import { migrate } from '../../../dist/core/db/migrate.js'
import { openDispatcher } from '../../../dist/core/outbox/dispatcher.js'
import { openOutboxMetrics } from '../../../dist/core/outbox/metrics.js'
import { upkeepLoops } from '../../../dist/core/upkeep.js'
import { migrationFolders } from '../../../dist/doors/outline.js'
import type { Held } from '../../../dist/core/ledger/job.js'
import type { Contestant, Handle, Producer, Servers, Worker } from '../contestant.ts'

const KIND = 'noop'
const SLOTS = 3000
// By the index of live jobs, from its end: a scan of the table every few milliseconds, or of the entries of jobs that have ended, would
// take part of the machine from what is measured.
const SETTLED = `
  select (select true from jobs where kind = '${KIND}' and finished_at is null and due_at is null order by rank desc limit 1) is null
     and not exists (select from outbox_events where status = 'pending') as settled`
// Ids in the order of their time, an hour ago and before, as those of real jobs.
const PREFILL = `
  insert into jobs (job_id, kind, state, priority, rank, payload, result, attempt_id, lease_owner, submitted_at, started_at, finished_at)
  select uuidv7(interval '-1 hour' - ($3 - n) * interval '1 ms'), '${KIND}', 'done', 5, n, '{"round": 0, "id": 0}', 'null', 1,
         'bench', now(), now(), now()
    from generate_series($1::integer, $2::integer) as n`
const PREFILL_ROWS = 250_000
const STEP_JOBS = 500
const LEASE_MS = 60_000

type Way = 'postgres' | 'redis' | 'redis, rows deleted'

const reeve = (name: string, title: string, way: Way): Contestant => ({
  name,
  title,
  side: 'reeve',
  settings: `one process, ${SLOTS} slots${way === 'postgres' ? '' : `, OUTBOX_KEPT_DAYS ${keptDays(way)}`}`,
  bulk: { size: 1000, lanes: 2 },
  openProducer: (servers) => openProducer(servers, way),
  startWorker: (servers, handle) => startWorker(servers, way, handle),
})

const keptDays = (way: Way): string => (way === 'redis, rows deleted' ? '0' : '1')

export const reevePostgres = reeve('reeve-postgres', 'Reeve, PostgreSQL feed', 'postgres')
export const reeveRedis = reeve('reeve-redis', 'Reeve, Redis feed', 'redis')
export const reeveRedisDeleting = reeve('reeve-redis-0', 'Reeve, Redis feed, rows deleted', 'redis, rows deleted')

async function openParts({ postgres, redis }: Servers, way: Way) {
  const redisUrl = way === 'postgres' ? '' : `redis://${redis.host}:${redis.port}`
  const { core: config } = parseConfig({ REDIS_URL: redisUrl, OUTBOX_KEPT_DAYS: keptDays(way) }, {})
  const database = openDatabase(postgres, () => {})
  const metrics = openMetrics()
  const log = pino({ level: 'silent' })
  await migrate(database, migrationFolders().slice(0, 1))
  const engine = await openEngine({ config, database, metrics, log })
  const outbox = openDispatcher(database, engine.topics, openOutboxMetrics(metrics))
  engine.onOutbox(outbox.wake)
  const close = async () => {
    await engine.close()
    await database.close()
  }
  return { config, database, engine, outbox, log, close }
}

async function openProducer(servers: Servers, way: Way): Promise<Producer> {
  const { config, database, engine, outbox, log, close } = await openParts(servers, way)
  const background = openBackground({ config, engine, kinds: [], loops: outbox.loops, log })
  background.start()
  return {
    async enqueue(payload) {
      await engine.ledger.submit({ kind: KIND, payload })
    },
    async enqueueMany(payloads) {
      await engine.ledger.submitMany(payloads.map((payload) => ({ kind: KIND, payload })))
    },
    async settled() {
      const [row] = await database.query<{ settled: boolean }>(SETTLED)
      return row?.settled === true
    },
    prefillFinished: (count) => prefill(database, count),
    async close() {
      await background.stop()
      await close()
    },
  }
}

/** In steps with a checkpoint after each, and in full pages: the disk holds the rows once, and not their log as well. */
async function prefill(database: Database, count: number): Promise<void> {
  await database.query('alter table jobs set (fillfactor = 100)')
  for (let from = 1; from <= count; from += PREFILL_ROWS) {
    await database.query(PREFILL, [from, Math.min(count, from + PREFILL_ROWS - 1), count])
    await database.query('checkpoint')
  }
  await database.query('alter table jobs set (fillfactor = 40)')
  await database.query('vacuum analyze jobs')
}

export interface ReeveLedger {
  prefillFinished(count: number): Promise<void>
  /** The life of some jobs, and what a console reads, each step as the ledger runs it. */
  runSteps(timed: <T>(step: string, work: () => Promise<T>) => Promise<T>): Promise<void>
  close(): Promise<void>
}

/** The ledger alone, without executors: for the time of its statements. */
export async function openReeveLedger(servers: Servers): Promise<ReeveLedger> {
  const { database, engine, close } = await openParts(servers, 'postgres')
  const { ledger } = engine
  const jobs = Array.from({ length: STEP_JOBS }, (_, id) => ({ kind: KIND, payload: { round: 0, id } }))
  const next = { kind: KIND, limit: STEP_JOBS, owner: 'bench', leaseMs: LEASE_MS }
  return {
    prefillFinished: (count) => prefill(database, count),
    async runSteps(timed) {
      const [first] = await timed(`submit ${STEP_JOBS}`, () => ledger.submitMany(jobs))
      const { jobs: held } = await timed(`acquire ${STEP_JOBS}`, () => ledger.acquireNextFrom(null, next))
      await timed(`renew ${STEP_JOBS}`, () =>
        Promise.all(held.map((job) => ledger.renew({ ...heldOf(job), leaseMs: LEASE_MS }))),
      )
      await timed(`finalize ${STEP_JOBS}`, () =>
        Promise.all(held.map((job) => ledger.finalize({ ...heldOf(job), result: null }))),
      )
      await timed('submit one', () => ledger.submit({ kind: KIND, payload: null }))
      const {
        jobs: [one],
      } = await timed('acquire one', () => ledger.acquireNextFrom(null, { ...next, limit: 1 }))
      if (one !== undefined) await timed('finalize one', () => ledger.finalize({ ...heldOf(one), result: null }))
      if (first?.ok === true) await timed('read one', () => ledger.get(first.jobId))
      await timed('count', () => ledger.count())
      await timed('search 50', () => ledger.search({ kind: KIND, state: 'done' }, 50))
    },
    close,
  }
}

const heldOf = ({ jobId, attemptId, owner }: Held): Held => ({ jobId, attemptId, owner })

async function startWorker(servers: Servers, way: Way, handle: Handle): Promise<Worker> {
  const { config, engine, outbox, log, close } = await openParts(servers, way)
  const kind = {
    name: KIND,
    slots: SLOTS,
    run: async ({ payload }: { payload: unknown }) => {
      handle(payload)
      return { result: null }
    },
  }
  engine.kinds.add([kind])
  const loops = [...outbox.loops, ...upkeepLoops({ ...engine, buryEveryMs: 5000 })]
  const background = openBackground({ config, engine, kinds: [kind], loops, log })
  background.start()
  return {
    async stop() {
      await background.stop()
      await close()
    },
  }
}
