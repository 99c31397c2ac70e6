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

// Copying a template costs PostgreSQL a fifth of a second of a core, emptying the few tables that a test filled a few milliseconds.
const emptied = new Map<string, Empty[]>()

interface Empty {
  at: PgConnection
  tables: readonly string[]
}

/** An empty, migrated database that nobody else uses until the test ends. */
export async function testDatabase(
  t: TestContext,
  doors: readonly MigrationFolder[] = [],
): Promise<{ database: Database; at: PgConnection }> {
  const at = await reusedDatabase(t, [CORE, ...doors])
  const database = openDatabase(at, () => {})
  atEnd(t, () => database.close())
  return { database, at }
}

/** Only the address of such a database. Whoever connects to it is gone when the test ends, or it is not used again. */
export async function reusedDatabase(t: TestContext, folders: readonly MigrationFolder[]): Promise<PgConnection> {
  const owners = folders.map(({ owner }) => owner).join()
  const free = emptied.get(owners) ?? []
  emptied.set(owners, free)
  const empty = free.pop() ?? (await newEmpty(folders))
  atEnd(t, async () => {
    if (await emptyAgain(empty)) free.push(empty)
  })
  return empty.at
}

async function newEmpty(folders: readonly MigrationFolder[]): Promise<Empty> {
  const at = await freshDatabase(folders)
  return { at, tables: await withClient(at, tablesOf) }
}

const OTHERS = `
  select from pg_stat_activity
   where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`
const TABLES = `select quote_ident(tablename) as name from pg_tables where schemaname = 'public' and tablename <> 'migrations'`
const RESTART_SEQUENCES = `
  select setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
    from pg_sequences where last_value is not null`
const MANY_ROWS = 1000
const LOOKS_MAX = 20

/** False if somebody is still connected, or if a test took a table away: such a database is not used again. */
const emptyAgain = ({ at, tables }: Empty): Promise<boolean> =>
  withClient(at, async (client) => {
    // A backend ends a moment after its client has closed the connection.
    let looks = 0
    while ((await client.query(OTHERS)).rowCount !== 0) if ((looks += 1) === LOOKS_MAX) return false
    const present = await tablesOf(client)
    if (!tables.every((name) => present.includes(name))) return false

    const filled = await client.query<{ name: string; many: boolean }>(present.map(filledTable).join(' union all '))
    // References and triggers are left aside: every table is emptied.
    const clears = filled.rows.map(({ name, many }) => (many ? `truncate ${name} cascade;` : `delete from ${name};`))
    await client.query(`set session_replication_role = replica; ${clears.join(' ')} ${RESTART_SEQUENCES}`)
    return true
  })

const filledTable = (name: string): string =>
  `(select '${name}' as name, exists (select from ${name} offset ${MANY_ROWS}) as many from ${name} limit 1)`

async function tablesOf(client: Client): Promise<string[]> {
  return (await client.query<{ name: string }>(TABLES)).rows.map(({ name }) => name)
}

async function withClient<T>(at: PgConnection, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(at)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Only its address: for tests that start processes on it. */
export async function freshDatabase(folders: readonly MigrationFolder[] = [CORE]): Promise<PgConnection> {
  const server = await sharedPostgres()
  return withClient(server, async (admin) => {
    const template = `template_${await fingerprint(folders)}`
    await admin.query('select pg_advisory_lock(42)')
    const { rowCount } = await admin.query('select from pg_database where datname = $1', [template])
    if (rowCount === 0) await makeTemplate(admin, server, template, folders)
    await admin.query('select pg_advisory_unlock(42)')
    return { ...server, database: await copy(admin, template) }
  })
}

/** A copy of a database that nobody is connected to. */
export async function copyDatabase(from: PgConnection): Promise<PgConnection> {
  return withClient(await sharedPostgres(), async (admin) => ({ ...from, database: await copy(admin, from.database) }))
}

// Copying the files takes a third of the time that writing every page to the log does, where nothing is synced to disk.
async function copy(admin: Client, template: string): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await admin.query(`create database ${name} template ${template} strategy file_copy`)
  return name
}

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
