// Migrations are files named NNN_what.sql in a folder of each owner (the core, a door), so that a door can be added to a
// running deployment. They are forward only and frozen once released. A database of a version before 0.2.0 is refused.
import { readFile, readdir } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import type { Database, Tx } from './database.ts'
import { StartError } from '../start-error.ts'

// Any number that nothing else in the database uses: two servers that start together take turns.
const MIGRATION_LOCK = 7_305_801

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
  return database.transaction((tx) => migrateIn(tx, folders))
}

export async function migrateIn(tx: Tx, folders: readonly MigrationFolder[]): Promise<string[]> {
  await tx.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK])
  await tx.query(CREATE_TABLE)

  const applied: string[] = []
  for (const folder of folders) applied.push(...(await applyFolder(tx, folder)))
  return applied
}

async function applyFolder(tx: Tx, { owner, folder }: MigrationFolder): Promise<string[]> {
  const known = new Map(
    (await tx.query<{ name: string; sha256: string }>(SELECT_APPLIED, [owner])).map((row) => [row.name, row.sha256]),
  )
  const names = (await readdir(folder)).filter((name) => /^\d{3}_\w+\.sql$/.test(name)).sort()
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
