// A database of its own for every test: copied from a template that has been migrated once per run.
import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import { Client } from 'pg'
import { openDatabase, type Database } from '../../src/core/db/database.ts'
import { migrate, type MigrationFolder } from '../../src/core/db/migrate.ts'
import { atEnd } from './cleanup.ts'
import { sharedPostgres, type PgConnection } from './servers.ts'

const CORE: MigrationFolder = { owner: 'core', folder: new URL('../../src/core/migrations/', import.meta.url) }

// Copying a template takes a tenth of a second and more, emptying a dozen tables a few milliseconds.
const emptied: PgConnection[] = []

/** An empty, migrated database that nobody else uses until the test ends. */
export async function testDatabase(
  t: TestContext,
  doors: readonly MigrationFolder[] = [],
): Promise<{ database: Database; at: PgConnection }> {
  const isCore = doors.length === 0
  const at = (isCore ? emptied.pop() : undefined) ?? (await freshDatabase([CORE, ...doors]))
  const database = openDatabase(at, () => {})
  atEnd(t, async () => {
    await database.close()
    if (isCore && (await emptyDatabase(at))) emptied.push(at)
  })
  return { database, at }
}

/** False if somebody is still connected: such a database is not used again. */
async function emptyDatabase(at: PgConnection): Promise<boolean> {
  const client = new Client(at)
  await client.connect()
  try {
    const others = await client.query(
      `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
         and backend_type = 'client backend'`,
    )
    if (others.rowCount !== 0) return false
    const { rows } = await client.query<{ names: string }>(
      `select string_agg(quote_ident(tablename), ', ') as names from pg_tables
        where schemaname = 'public' and tablename <> 'migrations'`,
    )
    await client.query(`truncate ${rows[0]?.names} restart identity cascade`)
    return true
  } finally {
    await client.end()
  }
}

/** Only its address: for tests that start processes on it. */
export async function freshDatabase(folders: readonly MigrationFolder[] = [CORE]): Promise<PgConnection> {
  const server = await sharedPostgres()
  const admin = new Client(server)
  await admin.connect()
  try {
    const template = `template_${await fingerprint(folders)}`
    await admin.query('select pg_advisory_lock(42)')
    const { rowCount } = await admin.query('select from pg_database where datname = $1', [template])
    if (rowCount === 0) await makeTemplate(admin, server, template, folders)
    await admin.query('select pg_advisory_unlock(42)')

    const name = `test_${randomBytes(6).toString('hex')}`
    await copy(admin, template, name)
    return { ...server, database: name }
  } finally {
    await admin.end()
  }
}

/** A copy of a database that nobody is connected to. */
export async function copyDatabase(from: PgConnection): Promise<PgConnection> {
  const admin = new Client(await sharedPostgres())
  await admin.connect()
  try {
    const name = `test_${randomBytes(6).toString('hex')}`
    await copy(admin, from.database, name)
    return { ...from, database: name }
  } finally {
    await admin.end()
  }
}

// Copying the files takes a third of the time that writing every page to the log does, where nothing is synced to disk.
const copy = (admin: Client, template: string, name: string) =>
  admin.query(`create database ${name} template ${template} strategy file_copy`)

async function makeTemplate(
  admin: Client,
  server: PgConnection,
  template: string,
  folders: readonly MigrationFolder[],
) {
  const draft = `draft_${randomBytes(6).toString('hex')}`
  await admin.query(`create database ${draft}`)
  const database = openDatabase({ ...server, database: draft }, () => {})
  await migrate(database, folders)
  await database.close()
  await admin.query(`alter database ${draft} rename to ${template}`)
}

async function fingerprint(folders: readonly MigrationFolder[]): Promise<string> {
  const hash = createHash('sha256')
  for (const { owner, folder } of folders) {
    for (const name of (await readdir(folder)).sort()) {
      if (name.endsWith('.sql'))
        hash
          .update(owner)
          .update(name)
          .update(await readFile(new URL(name, folder)))
    }
  }
  return hash.digest('hex').slice(0, 16)
}
