// What requests cost the database: statements, the bytes of log that they write, flushes of it, and the time that statements ran.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../src/core/db/database.ts'

const RESET = `select pg_stat_statements_reset()`
const STATEMENTS = `
  select sum(calls)::integer as calls, sum(total_exec_time)::float8 as ms, sum(wal_bytes)::float8 as bytes from pg_stat_statements
   where dbid = (select oid from pg_database where datname = current_database()) and query !~ 'pg_stat_|bench'`
// A commit that nobody waits for is flushed by the WAL writer, which is not counted.
const FLUSHES = `
  select sum(fsyncs)::float8 as flushes from pg_stat_io where object = 'wal' and backend_type = 'client backend'`

/** What follows an answer (a receipt, an event, an announcement) has been done by then. */
const SETTLE_MS = 500
/** A backend that has nothing to do reports its own counts after ten seconds. */
const REPORTED_MS = 10_500

export interface Counts {
  statements: number
  statementsMs: number
  flushes: number
  walBytes: number
}

export interface Counting {
  /** Resolves when what was done before is in the counts. */
  settled(): Promise<void>
  /** Of what `work` does, less what the server does by itself in that time. */
  during(work: () => Promise<void>): Promise<Counts>
}

interface Reading extends Counts {
  /** How long statements were counted. */
  ms: number
  /** How long flushes were counted. */
  flushesMs: number
}

export async function openCounting(database: Database): Promise<Counting> {
  await database.query('create extension if not exists pg_stat_statements')
  const settled = () => sleep(REPORTED_MS)
  await settled()
  const idle = await read(database, () => sleep(REPORTED_MS))
  return {
    settled,
    async during(work) {
      const all = await read(database, work)
      const own = (figure: keyof Counts, during: 'ms' | 'flushesMs') =>
        Math.max(0, all[figure] - (idle[figure] / idle[during]) * all[during])
      return {
        statements: own('statements', 'ms'),
        statementsMs: own('statementsMs', 'ms'),
        flushes: own('flushes', 'flushesMs'),
        walBytes: own('walBytes', 'ms'),
      }
    },
  }
}

async function read(database: Database, work: () => Promise<unknown>): Promise<Reading> {
  const flushed = async () => (await database.query<{ flushes: number }>(FLUSHES))[0]?.flushes ?? 0
  const before = await flushed()
  await database.query(RESET)
  const started = performance.now()
  await work()
  await sleep(SETTLE_MS)
  type Counted = { calls: number | null; ms: number | null; bytes: number | null }
  const [counted] = await database.query<Counted>(STATEMENTS)
  const ms = performance.now() - started
  await sleep(REPORTED_MS)
  const after = await flushed()
  return {
    ms,
    flushesMs: performance.now() - started,
    statements: counted?.calls ?? 0,
    statementsMs: counted?.ms ?? 0,
    walBytes: counted?.bytes ?? 0,
    flushes: after - before,
  }
}
