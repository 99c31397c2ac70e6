// Migrations are files named NNN_what.sql in a folder of each owner (the core, a door), so that a door can be added to a
// running deployment. They are forward only and frozen once released. A database of a version before 0.2.0 is refused.
import { readFile, readdir } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import type { Database, Queryable, Tx } from './database.ts'
import { lockStatements } from './migration-locks.ts'
import { StartError } from '../start-error.ts'
import { codeOf } from '../values/error-code.ts'

// Any number that nothing else in the database uses: two servers that start together take turns.
const MIGRATION_LOCK = 7_305_801

const LOCK_TIMEOUT_SEC = 5
/** By the code of PostgreSQL. */
const WAITED_IN_VAIN = new Map([
  ['55P03', `A migration waited ${LOCK_TIMEOUT_SEC} s for a lock and gave up`],
  ['40P01', 'A migration and another transaction waited for each other, and the migration gave up'],
])

const CREATE_TABLE = `
  create table if not exists migrations (
    owner text not null,
    name text not null,
    sha256 text not null,
    applied_at timestamptz not null default clock_timestamp(),
    primary key (owner, name)
  )`
const SELECT_APPLIED = `select name, sha256 from migrations where owner = $1`
const INSERT_APPLIED = `insert into migrations (owner, name, sha256) values ($1, $2, $3)`

const NO_UPGRADE =
  'The database was made by another version of Reeve, before 0.2.0, and cannot be upgraded from it. ' +
  'Use an empty database (DATABASE_URL) or another data folder (REEVE_DATA_DIR), or the version that made this one.'

export interface MigrationFolder {
  /** 'core', or the door's name. */
  owner: string
  folder: URL
}

/** Applies what is missing, in one transaction, and returns the names of what it applied. */
export async function migrate(database: Database, folders: readonly MigrationFolder[]): Promise<string[]> {
  try {
    return await database.transaction((tx) => migrateIn(tx, folders))
  } catch (error) {
    const why = WAITED_IN_VAIN.get(codeOf(error) ?? '')
    if (why === undefined) throw error
    throw new StartError(
      `${why}; nothing was changed. Start again, or end what holds the lock: reeve migrate --plan says on which tables.`,
      { cause: error },
    )
  }
}

export async function migrateIn(tx: Tx, folders: readonly MigrationFolder[]): Promise<string[]> {
  await tx.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
  // Whoever comes after a waiting migration waits behind it: it must not wait for long.
  await tx.query(`set local lock_timeout = '${LOCK_TIMEOUT_SEC}s'`)
  await tx.query(CREATE_TABLE)

  const migrations = await migrationsIn(tx, folders)
  for (const { name, sha256, appliedAs } of migrations) {
    if (appliedAs !== null && appliedAs !== sha256)
      throw new StartError(`Migration ${name} was changed after it had been applied. ${NO_UPGRADE}`)
  }
  const pending = migrations.filter(isPending)
  await lockTables(tx, pending)
  for (const { owner, file, sql, sha256 } of pending) {
    await tx.script(sql)
    await tx.query(INSERT_APPLIED, [owner, file, sha256])
  }
  return pending.map(({ name }) => name)
}

/**
 * All of them, before the first migration: two migrations that each keep the order in which requests lock tables may break it together, and
 * a request of the version before would lose the deadlock.
 */
async function lockTables(tx: Tx, pending: readonly PendingMigration[]): Promise<void> {
  for (const sql of await lockStatements(tx, pending)) await tx.script(sql)
}

export interface PendingMigration {
  /** Owner and file. */
  name: string
  sql: string
}

interface Migration extends PendingMigration {
  owner: string
  file: string
  sha256: string
  /** The checksum of what was applied. Null: it is pending. */
  appliedAs: string | null
}

const isPending = ({ appliedAs }: Migration): boolean => appliedAs === null

/** What `migrate` would apply, in its order. Changes nothing. */
export async function pendingMigrations(
  on: Queryable,
  folders: readonly MigrationFolder[],
): Promise<PendingMigration[]> {
  return (await migrationsIn(on, folders)).filter(isPending)
}

async function migrationsIn(on: Queryable, folders: readonly MigrationFolder[]): Promise<Migration[]> {
  const [table] = await on.query<{ exists: boolean }>(`select to_regclass('migrations') is not null as exists`)
  const migrations: Migration[] = []
  for (const { owner, folder } of folders) {
    const rows = table?.exists === true ? await on.query<MigrationRow>(SELECT_APPLIED, [owner]) : []
    const applied = new Map(rows.map((row) => [row.name, row.sha256]))
    const files = await filesIn(folder)
    refuseForeign(owner, applied.keys(), files)
    for (const file of files) {
      const sql = await readFile(new URL(file, folder), 'utf8')
      const sha256 = createHash('sha256').update(sql).digest('hex')
      migrations.push({ name: `${owner}/${file}`, owner, file, sql, sha256, appliedAs: applied.get(file) ?? null })
    }
  }
  return migrations
}

interface MigrationRow {
  name: string
  sha256: string
}

const filesIn = async (folder: URL): Promise<string[]> =>
  (await readdir(folder)).filter((name) => /^\d{3}_\w+\.sql$/.test(name)).sort()

/** Before anything is applied: whether all that was applied belongs to this version. */
function refuseForeign(owner: string, applied: Iterable<string>, names: readonly string[]): void {
  const [unknown] = [...applied].filter((name) => !names.includes(name)).sort()
  if (unknown === undefined) return
  const isNewer = Number.parseInt(unknown) > names.length // they are numbered from 001 with no gap
  throw new StartError(
    `The database has migration ${owner}/${unknown}, which this version of Reeve does not know. ` +
      (isNewer ? 'Use a newer Reeve.' : NO_UPGRADE),
  )
}
