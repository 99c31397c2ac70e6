// What requests cost the database: statements, flushes of the log, bytes of it, and the time that statements ran.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../src/core/db/database.ts'

const RESET = `select pg_stat_statements_reset()`
const STATEMENTS = `
  select sum(calls)::integer as calls, sum(total_exec_time)::float8 as ms from pg_stat_statements
   where dbid = (select oid from pg_database where datname = current_database()) and query !~ 'pg_stat_|bench'`
// A commit that nobody waits for is flushed by the WAL writer, which is not counted.
const LOG = `
  select (select wal_bytes::float8 from pg_stat_wal) as bytes,
         (select sum(fsyncs)::float8 from pg_stat_io where object = 'wal' and backend_type = 'client backend') as flushes`

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
  /** How long flushes and bytes were counted. */
  logMs: number
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
      const own = (figure: keyof Counts, during: 'ms' | 'logMs') =>
        Math.max(0, all[figure] - (idle[figure] / idle[during]) * all[during])
      return {
        statements: own('statements', 'ms'),
        statementsMs: own('statementsMs', 'ms'),
        flushes: own('flushes', 'logMs'),
        walBytes: own('walBytes', 'logMs'),
      }
    },
  }
}

async function read(database: Database, work: () => Promise<unknown>): Promise<Reading> {
  const log = async () => (await database.query<{ bytes: number; flushes: number }>(LOG))[0] ?? { bytes: 0, flushes: 0 }
  const before = await log()
  await database.query(RESET)
  const started = performance.now()
  await work()
  await sleep(SETTLE_MS)
  const [counted] = await database.query<{ calls: number | null; ms: number | null }>(STATEMENTS)
  const ms = performance.now() - started
  await sleep(REPORTED_MS)
  const after = await log()
  return {
    ms,
    logMs: performance.now() - started,
    statements: counted?.calls ?? 0,
    statementsMs: counted?.ms ?? 0,
    flushes: after.flushes - before.flushes,
    walBytes: after.bytes - before.bytes,
  }
}
