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

interface MigrationPlan {
  name: string
  locks: MigrationLock[]
}

export async function locksOf(on: Queryable, pending: readonly PendingMigration[]): Promise<MigrationPlan[]> {
  const plans = plansOf(pending)
  const tables = plans.flatMap(({ locks }) => locks.map(({ table }) => table))
  const rows = await on.query<{ name: string; rows: string }>(ROWS_OF, [tables])
  const rowsOf = new Map(rows.map((row) => [row.name, Number(row.rows)]))
  return plans.map(({ name, locks }) => ({
    name,
    locks: locks.map((lock) => ({ ...lock, rows: rowsOf.get(lock.table) ?? null })),
  }))
}

// The order in which requests lock tables (CONTRIBUTING.md). Those of doors come between these two, in the order of their migrations.
const LOCKED_FIRST = ['accounts']
const LOCKED_LAST = ['jobs', 'attempts', 'outbox_events']

const MODES = { 'reads and writes': 'access exclusive', writes: 'share row exclusive' } as const

const EXISTING = `select name from unnest($1::text[]) as name where to_regclass(name) is not null`

/** What locks the tables of all pending migrations in that order. */
export async function lockStatements(on: Queryable, pending: readonly PendingMigration[]): Promise<string[]> {
  const modes = new Map<string, string>()
  for (const { table, waits } of plansOf(pending).flatMap(({ locks }) => locks)) {
    if (waits !== 'nothing' && modes.get(table) !== MODES['reads and writes']) modes.set(table, MODES[waits])
  }
  const existing = await on.query<{ name: string }>(EXISTING, [[...modes.keys()]])
  return existing
    .map(({ name }) => name)
    .toSorted((a, b) => placeOf(a) - placeOf(b))
    .map((table) => `lock table "${table}" in ${modes.get(table)} mode`)
}

function placeOf(table: string): number {
  if (LOCKED_FIRST.includes(table)) return -1
  return LOCKED_LAST.indexOf(table) + 1
}

function plansOf(pending: readonly PendingMigration[]): MigrationPlan[] {
  const parsed = pending.map(({ name, sql }) => ({ name, statements: statementsOf(sql) }))
  const made = new Set(parsed.flatMap(({ statements }) => statements.flatMap(tableMade)))
  return parsed.map(({ name, statements }) => ({
    name,
    locks: statements.flatMap(lockOf).filter(({ table }) => !made.has(table)),
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
