// Migrations are files named NNN_what.sql in a folder of each owner (the core, a door), so that a door can be added to a
// running deployment. They are forward only and frozen once released. A database of a version before 0.2.0 is refused.
import { readFile, readdir } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import type { Database, Queryable, Tx } from './database.ts'
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

  const applied: string[] = []
  for (const folder of folders) applied.push(...(await applyFolder(tx, folder)))
  return applied
}

export interface PendingMigration {
  /** Owner and file. */
  name: string
  sql: string
}

/** What `migrate` would apply, in its order. Changes nothing. */
export async function pendingMigrations(
  on: Queryable,
  folders: readonly MigrationFolder[],
): Promise<PendingMigration[]> {
  const [table] = await on.query<{ exists: boolean }>(`select to_regclass('migrations') is not null as exists`)
  const pending: PendingMigration[] = []
  for (const { owner, folder } of folders) {
    const rows = table?.exists === true ? await on.query<{ name: string }>(SELECT_APPLIED, [owner]) : []
    const known = rows.map(({ name }) => name)
    const names = await namesIn(folder)
    refuseForeign(owner, known, names)
    for (const name of names.filter((one) => !known.includes(one)))
      pending.push({ name: `${owner}/${name}`, sql: await readFile(new URL(name, folder), 'utf8') })
  }
  return pending
}

const namesIn = async (folder: URL): Promise<string[]> =>
  (await readdir(folder)).filter((name) => /^\d{3}_\w+\.sql$/.test(name)).sort()

async function applyFolder(tx: Tx, { owner, folder }: MigrationFolder): Promise<string[]> {
  const known = new Map(
    (await tx.query<{ name: string; sha256: string }>(SELECT_APPLIED, [owner])).map((row) => [row.name, row.sha256]),
  )
  const names = await namesIn(folder)
  refuseForeign(owner, known.keys(), names)

  const applied: string[] = []
  for (const name of names) {
    const sql = await readFile(new URL(name, folder), 'utf8')
    const sha256 = createHash('sha256').update(sql).digest('hex')
    const before = known.get(name)
    if (before === undefined) {
      await tx.script(sql)
      await tx.query(INSERT_APPLIED, [owner, name, sha256])
      applied.push(`${owner}/${name}`)
    } else if (before !== sha256) {
      throw new StartError(`Migration ${owner}/${name} was changed after it had been applied. ${NO_UPGRADE}`)
    }
  }
  return applied
}

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
