// The database as an operator watches it: this process's connections, the longest transaction, and what vacuum has left.
import { Gauge } from 'prom-client'
import { sampledGauges, type Metrics } from '../metrics.ts'
import type { Database } from './database.ts'

const TABLES_MAX = 60

// Of other roles PostgreSQL shows nothing without pg_read_all_stats. The walsender of a backup is no client backend.
const ACTIVITY = `
  select coalesce(extract(epoch from clock_timestamp() - min(xact_start)), 0)::float8 as longest_sec,
         (select age(datfrozenxid) from pg_database where datname = current_database()) as xid_age
    from pg_stat_activity
   where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`

// Statistics and page counts of the catalog: no table is read.
const TABLES = `
  select s.relname as name, s.n_dead_tup::float8 as dead_rows, s.n_live_tup::float8 as rows,
         pg_table_size(s.relid)::float8 as bytes, pg_indexes_size(s.relid)::float8 as index_bytes
    from pg_stat_user_tables s join pg_class c on c.oid = s.relid
   where s.schemaname = current_schema() order by c.relpages desc, s.relname limit ${TABLES_MAX}`

type TableSample = { name: string; dead_rows: number; rows: number; bytes: number; index_bytes: number }

export function openDatabaseMetrics(registry: Metrics, database: Database): void {
  openPoolGauges(registry, database)
  type Activity = { longest_sec: number; xid_age: number }
  sampledGauges(registry, 'activity', () => database.query<Activity>(ACTIVITY), [
    {
      name: 'reeve_database_longest_transaction_seconds',
      help: 'How long the longest transaction in this database has been open. It holds back vacuum.',
      values: ([now]) => (now === undefined ? [] : [{ value: Math.max(0, now.longest_sec) }]),
    },
    {
      name: 'reeve_database_xid_age',
      help: 'Transactions since the oldest row that is not frozen. PostgreSQL refuses writes at 2,147,483,647.',
      values: ([now]) => (now === undefined ? [] : [{ value: now.xid_age }]),
    },
  ])
  const ofTable = (value: (table: TableSample) => number) => (tables: readonly TableSample[]) =>
    tables.map((table) => ({ labels: { table: table.name }, value: value(table) }))
  sampledGauges(registry, 'tables', () => database.query<TableSample>(TABLES), [
    {
      name: 'reeve_table_rows',
      help: `Rows by the statistics, of the ${TABLES_MAX} largest tables.`,
      labelNames: ['table'],
      values: ofTable(({ rows }) => rows),
    },
    {
      name: 'reeve_table_dead_rows',
      help: 'Row versions that vacuum has not removed yet.',
      labelNames: ['table'],
      values: ofTable(({ dead_rows: rows }) => rows),
    },
    {
      name: 'reeve_table_bytes',
      help: 'Size of a table without its indexes.',
      labelNames: ['table'],
      values: ofTable(({ bytes }) => bytes),
    },
    {
      name: 'reeve_table_index_bytes',
      help: 'Size of its indexes.',
      labelNames: ['table'],
      values: ofTable(({ index_bytes: bytes }) => bytes),
    },
  ])
}

/** Memory only: no statement. */
function openPoolGauges(registry: Metrics, database: Database): void {
  const connections = new Gauge({
    name: 'reeve_database_connections',
    help: 'Connections of this process, by pool and state.',
    labelNames: ['pool', 'state'],
    registers: [],
    collect() {
      for (const { name: pool, busy, idle } of database.pools()) {
        this.set({ pool, state: 'busy' }, busy)
        this.set({ pool, state: 'idle' }, idle)
      }
    },
  })
  const waiting = new Gauge({
    name: 'reeve_database_waiting',
    help: 'Callers in this process that wait for a connection, by pool.',
    labelNames: ['pool'],
    registers: [],
    collect() {
      for (const { name: pool, waiting: callers } of database.pools()) this.set({ pool }, callers)
    },
  })
  registry.registerMetric(connections)
  registry.registerMetric(waiting)
}
