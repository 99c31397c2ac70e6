// Which statements a cycle is made of, as PostgreSQL counts them.
import { Client } from 'pg'
import type { PostgresServer } from '../servers/postgres.ts'

/** Costs a few percent, so it is only on where statements are counted. */
export const COUNTING = { shared_preload_libraries: 'pg_stat_statements' }

const RESET = `select pg_stat_statements_reset()`
const STATEMENTS = `
  select query, calls::integer, rows::integer, total_exec_time as ms from pg_stat_statements
   where dbid = (select oid from pg_database where datname = current_database()) and query !~ 'pg_stat_'
   order by calls desc limit 40`
const TOTALS = `select wal_bytes::float8 as wal_bytes, wal_fpi::float8 as wal_fpi from pg_stat_wal`

export interface StatementCount {
  query: string
  calls: number
  rows: number
  ms: number
}

export interface Counting {
  /** Since the counting began. */
  read(): Promise<{ statements: StatementCount[]; walBytes: number }>
}

export async function beginCounting({ host, port, user }: PostgresServer, database: string): Promise<Counting> {
  const ask = async <Row extends object>(sql: string): Promise<Row[]> => {
    const client = new Client({ host, port, user, database })
    await client.connect()
    try {
      return (await client.query<Row>(sql)).rows
    } finally {
      await client.end()
    }
  }
  const walBytes = async () => (await ask<{ wal_bytes: number }>(TOTALS))[0]?.wal_bytes ?? 0
  await ask('create extension if not exists pg_stat_statements')
  await ask(RESET)
  const before = await walBytes()
  return {
    read: async () => ({
      statements: await ask<StatementCount>(STATEMENTS),
      walBytes: (await walBytes()) - before,
    }),
  }
}
