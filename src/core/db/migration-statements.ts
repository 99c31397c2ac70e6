// What the text of a migration says of locks: which tables its statements name, and who waits for each. What it cannot say, the
// catalog knows (migration-locks.ts).

/** What has to wait while a statement runs. */
export type MigrationWaits = 'reads and writes' | 'writes' | 'nothing'

export interface NamedLock {
  table: string
  waits: MigrationWaits
  statement: string
}

export interface MigrationStatements {
  locks: NamedLock[]
  tablesMade: string[]
  tablesDropped: string[]
  constraintsDropped: string[]
  indexesDropped: string[]
}

// The first that fits a statement, with the list of tables that it names. Rows that a migration changes may be locked by requests that
// want the next table, so their table is locked before.
const RULES: readonly [RegExp, MigrationWaits][] = [
  [/^alter table (?:if exists )?(\S+) validate constraint\b/, 'nothing'],
  [/^alter table (?:if exists )?(\S+)/, 'reads and writes'],
  [/^lock (?:table )?(.+?)(?: in [a-z ]+ mode)?(?: nowait)?$/, 'reads and writes'],
  [/^truncate (?:table )?(.+?)(?: (?:restart|continue) identity)?(?: cascade| restrict)?$/, 'reads and writes'],
  [/^drop table (?:if exists )?(.+?)(?: cascade| restrict)?$/, 'reads and writes'],
  [/^drop trigger .*? on (\S+)/, 'reads and writes'],
  [/^create (?:unique )?index concurrently .*? on ([^\s(]+)/, 'nothing'],
  [/^create (?:unique )?index .*? on ([^\s(]+)/, 'writes'],
  [/^create (?:or replace )?(?:constraint )?trigger .*? on (\S+)/, 'writes'],
  [/^insert into ([^\s(]+)/, 'nothing'],
  [/^(?:update|delete from) (\S+)/, 'writes'],
]
const REFERENCED = /\breferences ([^\s(,)]+)/g
const MADE = /^create (?:unlogged )?table (?:if not exists )?([^\s(]+)/g
const DROPPED = /^drop table (?:if exists )?(.+?)(?: cascade| restrict)?$/g
const DROPPED_CONSTRAINT = /\bdrop constraint (?:if exists )?([^\s,]+)/g
const DROPPED_INDEX = /^drop index (?:if exists )?(.+?)(?: cascade| restrict)?$/g
const STATEMENT_CHARS_MAX = 120

export function readMigration(sql: string): MigrationStatements {
  const statements = statementsOf(sql)
  const namesIn = (pattern: RegExp) =>
    statements.flatMap((statement) => [...statement.matchAll(pattern)].flatMap(([, names = '']) => namesOf(names)))
  return {
    locks: statements.flatMap(locksOf),
    tablesMade: namesIn(MADE),
    tablesDropped: namesIn(DROPPED),
    constraintsDropped: namesIn(DROPPED_CONSTRAINT),
    indexesDropped: namesIn(DROPPED_INDEX),
  }
}

/** Without comments and bodies of functions, in lower case, on one line each. */
function statementsOf(sql: string): string[] {
  return sql
    .replace(/--[^\n]*/g, '')
    .replace(/\$(\w*)\$.*?\$\1\$/gs, "''")
    .split(';')
    .map((statement) => statement.replace(/\s+/g, ' ').trim().toLowerCase())
    .filter((statement) => statement !== '')
}

function locksOf(statement: string): NamedLock[] {
  const lockOn = (waits: MigrationWaits) => (table: string) => ({
    table,
    waits,
    statement: statement.slice(0, STATEMENT_CHARS_MAX),
  })
  const [names, waits] =
    RULES.map(([rule, waits]) => [rule.exec(statement)?.[1], waits] as const).find(([names]) => names !== undefined) ??
    []
  const named = names === undefined || waits === undefined ? [] : namesOf(names).map(lockOn(waits))
  const referenced = [...statement.matchAll(REFERENCED)].flatMap(([, name = '']) => namesOf(name)).map(lockOn('writes'))
  return [...named, ...referenced]
}

const namesOf = (list: string): string[] =>
  list.split(',').map((name) => name.trim().replace(/^only |"|^public\./g, ''))
