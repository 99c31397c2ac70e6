// What a migration locks, read from its statements. Tables that the pending migrations make are nobody's yet.
import type { Queryable } from './database.ts'
import type { PendingMigration } from './migrate.ts'

/** What has to wait while a statement runs. */
export type MigrationWaits = 'reads and writes' | 'writes' | 'nothing'

export interface MigrationLock {
  table: string
  /** An estimate; null: unknown. */
  rows: number | null
  statement: string
  waits: MigrationWaits
}

const RULES: readonly [RegExp, MigrationWaits][] = [
  [/^alter table (?:if exists )?(?:only )?(\w+) validate constraint\b/, 'nothing'],
  [/^alter table (?:if exists )?(?:only )?(\w+)\b/, 'reads and writes'],
  [/^lock (?:table )?(\w+)\b/, 'reads and writes'],
  [/^(?:drop table|truncate)(?: if exists)? (\w+)\b/, 'reads and writes'],
  [/^create (?:unique )?index concurrently .*? on (\w+)\b/, 'nothing'],
  [/^create (?:unique )?index .*? on (\w+)\b/, 'writes'],
  [/^create (?:or replace )?trigger .*? on (\w+)\b/, 'writes'],
  [/^(?:update|delete from|insert into) (\w+)\b/, 'nothing'],
]
const STATEMENT_CHARS_MAX = 120

const ROWS_OF = `select relname as name, reltuples::bigint as rows from pg_class where relname = any ($1) and reltuples >= 0`

export async function locksOf(
  on: Queryable,
  pending: readonly PendingMigration[],
): Promise<{ name: string; locks: MigrationLock[] }[]> {
  const parsed = pending.map(({ name, sql }) => ({ name, statements: statementsOf(sql) }))
  const made = new Set(parsed.flatMap(({ statements }) => statements.flatMap(tableMade)))
  const plans = parsed.map(({ name, statements }) => ({
    name,
    locks: statements.flatMap(lockOf).filter(({ table }) => !made.has(table)),
  }))
  const tables = plans.flatMap(({ locks }) => locks.map(({ table }) => table))
  const rows = await on.query<{ name: string; rows: string }>(ROWS_OF, [tables])
  const rowsOf = new Map(rows.map((row) => [row.name, Number(row.rows)]))
  return plans.map(({ name, locks }) => ({
    name,
    locks: locks.map((lock) => ({ ...lock, rows: rowsOf.get(lock.table) ?? null })),
  }))
}

/** Without comments, in lower case, on one line each. The body of a function is one statement with what follows it. */
function statementsOf(sql: string): string[] {
  return sql
    .replace(/--[^\n]*/g, '')
    .split(';')
    .map((statement) => statement.replace(/\s+/g, ' ').trim().toLowerCase())
    .filter((statement) => statement !== '')
}

const tableMade = (statement: string): string[] =>
  /^create (?:unlogged )?table (?:if not exists )?(\w+)/.exec(statement)?.slice(1) ?? []

function lockOf(statement: string): MigrationLock[] {
  for (const [rule, waits] of RULES) {
    const table = rule.exec(statement)?.[1]
    if (table !== undefined) return [{ table, rows: null, statement: statement.slice(0, STATEMENT_CHARS_MAX), waits }]
  }
  return []
}
