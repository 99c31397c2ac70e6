// What a migration locks. Tables that the pending migrations make are nobody's yet.
import type { Queryable } from './database.ts'
import { readMigration, type MigrationStatements, type MigrationWaits, type NamedLock } from './migration-statements.ts'
import type { PendingMigration } from './migrate.ts'

export interface MigrationLock extends NamedLock {
  /** An estimate; null: unknown. */
  rows: number | null
}

interface MigrationPlan {
  name: string
  locks: MigrationLock[]
}

const SELECT_TABLES = `
  select relname as name, reltuples::bigint as rows from pg_class
   where relname = any ($1) and to_regclass(quote_ident(relname)) = pg_class.oid`

// Tables that a statement locks and does not name: that of an index that is dropped, and those to which the foreign keys refer that go.
const SELECT_UNNAMED = `
  select t.relname as table, 'drop index ' || i.relname as statement
    from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
   where i.relname = any ($1::text[])
   union all
  select t.relname, 'drop constraint ' || conname
    from pg_constraint join pg_class f on f.oid = conrelid join pg_class t on t.oid = confrelid
   where contype = 'f' and (f.relname = any ($2::text[]) or conname = any ($3::text[]))`

export async function locksOf(on: Queryable, pending: readonly PendingMigration[]): Promise<MigrationPlan[]> {
  const read = pending.map(({ name, sql }) => ({ name, statements: readMigration(sql) }))
  const made = new Set(read.flatMap(({ statements }) => statements.tablesMade))
  const plans: MigrationPlan[] = []
  for (const { name, statements } of read) {
    const locks = [...statements.locks, ...(await unnamedLocks(on, statements))].filter(({ table }) => !made.has(table))
    const rowsOf = await rowsOfTables(on, locks)
    plans.push({ name, locks: locks.map((lock) => ({ ...lock, rows: rowsOf.get(lock.table) ?? null })) })
  }
  return plans
}

async function unnamedLocks(on: Queryable, statements: MigrationStatements): Promise<NamedLock[]> {
  const { indexesDropped, tablesDropped, constraintsDropped } = statements
  const rows = await on.query<Omit<NamedLock, 'waits'>>(SELECT_UNNAMED, [
    indexesDropped,
    tablesDropped,
    constraintsDropped,
  ])
  return rows.map((row) => ({ ...row, waits: 'reads and writes' }))
}

async function rowsOfTables(on: Queryable, locks: readonly NamedLock[]): Promise<Map<string, number | null>> {
  const rows = await on.query<{ name: string; rows: string }>(SELECT_TABLES, [locks.map(({ table }) => table)])
  return new Map(rows.map(({ name, rows }) => [name, Number(rows) >= 0 ? Number(rows) : null]))
}

// The order in which requests lock tables (CONTRIBUTING.md). Those of doors come between these two, in the order of their migrations.
const LOCKED_FIRST = ['accounts']
const LOCKED_LAST = ['jobs', 'attempts', 'outbox_events']

const MODES = { 'reads and writes': 'access exclusive', writes: 'share row exclusive' } as const
const EXISTING = `select name from unnest($1::text[]) as name where to_regclass(name) is not null`

/** What locks the tables of all pending migrations in that order. */
export async function lockStatements(on: Queryable, pending: readonly PendingMigration[]): Promise<string[]> {
  const strongest = new Map<string, Exclude<MigrationWaits, 'nothing'>>()
  for (const { table, waits } of (await locksOf(on, pending)).flatMap(({ locks }) => locks)) {
    if (waits !== 'nothing' && strongest.get(table) !== 'reads and writes') strongest.set(table, waits)
  }
  const existing = await on.query<{ name: string }>(EXISTING, [[...strongest.keys()]])
  return existing
    .map(({ name }) => name)
    .toSorted((a, b) => placeOf(a) - placeOf(b))
    .map((table) => `lock table "${table}" in ${MODES[strongest.get(table) ?? 'reads and writes']} mode`)
}

function placeOf(table: string): number {
  if (LOCKED_FIRST.includes(table)) return -1
  return LOCKED_LAST.indexOf(table) + 1
}
