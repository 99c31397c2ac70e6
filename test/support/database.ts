// A database of its own for every test: copied from a template that has been migrated once per run.
import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { Client } from 'pg'
import { openDatabase, type Database } from '../../src/core/db/database.ts'
import { migrate, type MigrationFolder } from '../../src/core/db/migrate.ts'
import { atEnd, FILE, type Scope } from './cleanup.ts'
import { sharedPostgres, type PgConnection } from './servers.ts'

const CORE: MigrationFolder = { owner: 'core', folder: new URL('../../src/core/migrations/', import.meta.url) }

// Copying a template costs PostgreSQL a fifth of a second of a core, emptying the few tables that a test filled a few milliseconds.
const emptied = new Map<string, Empty[]>()
/** Those in use, by their names. */
const used = new Map<string, Empty>()

interface Empty {
  at: PgConnection
  /** Kept: a connection that knows the tables empties them in a tenth of the time that a new one takes. */
  client: Client
  tables: readonly string[]
}

/** An empty, migrated database that nobody else uses until the test ends. */
export async function testDatabase(
  t: Scope,
  doors: readonly MigrationFolder[] = [],
): Promise<{ database: Database; at: PgConnection }> {
  const at = await reusedDatabase(t, [CORE, ...doors])
  const database = openDatabase(at, () => {})
  atEnd(t, () => database.close())
  return { database, at }
}

/** Only the address of such a database. Whoever connects to it is gone when the test ends, or it is not used again. */
export async function reusedDatabase(t: Scope, folders: readonly MigrationFolder[]): Promise<PgConnection> {
  const owners = folders.map(({ owner }) => owner).join()
  const free = emptied.get(owners) ?? []
  emptied.set(owners, free)
  const empty = free.pop() ?? (await newEmpty(folders))
  used.set(empty.at.database, empty)
  atEnd(t, async () => {
    used.delete(empty.at.database)
    if (await emptyAgain(empty).catch(() => false)) free.push(empty) // a test may end every connection, this one as well
  })
  return empty.at
}

async function newEmpty(folders: readonly MigrationFolder[]): Promise<Empty> {
  const at = await freshDatabase(folders)
  const client = new Client(at)
  await client.connect()
  client.on('error', () => {}) // the server went first
  atEnd(FILE, () => client.end())
  return { at, client, tables: (await tablesOf(client)).map(({ name }) => name) }
}

const OTHERS = `
  select from pg_stat_activity
   where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`
// By their files: to look into sixty tables PostgreSQL would have to plan sixty scans.
const TABLES = `
  select quote_ident(relname) as name, pg_relation_size(oid) as bytes
    from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'migrations'`
const RESTART_SEQUENCES = `
  select setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
    from pg_sequences where last_value is not null`
const LARGE_BYTES = 200_000 // from here on a new file is cheaper than a delete of each row
const LOOKS_MAX = 20
const LOCK_TIMEOUT = `set local lock_timeout = '300ms'` // before PostgreSQL looks for a deadlock, and fails the server's transaction
const LOCK_TRIES_MAX = 10

/** False if somebody is still connected, or if a test took a table away: such a database is not used again. */
async function emptyAgain(empty: Empty): Promise<boolean> {
  // A backend ends a moment after its client has closed the connection.
  let looks = 0
  while ((await empty.client.query(OTHERS)).rowCount !== 0) if ((looks += 1) === LOOKS_MAX) return false
  if (!(await clear(empty))) return false
  await empty.client.query(RESTART_SEQUENCES)
  return true
}

/**
 * A database of `reusedDatabase`, under a server that goes on: what it remembers of these tables stays, and no id comes again.
 * False if a test took a table away, or if the server was in the way.
 */
export async function emptyInUse({ database }: PgConnection, kept: readonly string[]): Promise<boolean> {
  const empty = used.get(database)
  if (empty === undefined) return false
  for (let tries = 0; tries < LOCK_TRIES_MAX; tries += 1) {
    try {
      return await clear(empty, kept)
    } catch {
      await empty.client.query('rollback')
    }
  }
  return false
}

async function clear(empty: Empty, kept: readonly string[] = []): Promise<boolean> {
  const { client, tables } = empty
  const present = await tablesOf(client)
  if (!tables.every((name) => present.some((table) => table.name === name))) return false

  // References and triggers are left aside: every table is emptied. A truncate would empty kept tables that refer to it.
  const mayTruncate = kept.length === 0
  const isFilled = ({ name, bytes }: Table) => bytes > 0 && !kept.includes(name)
  const filled = present.filter(isFilled)
  if (filled.length === 0) return true
  const clears = filled.map(({ name, bytes }) =>
    mayTruncate && bytes > LARGE_BYTES ? `truncate ${name} cascade` : `delete from ${name}`,
  )
  // Locked first: a transaction of the server that has read these tables would write what it found after they are empty.
  const lock = `lock table ${filled.map(({ name }) => name).join()} in access exclusive mode`
  const statements = [`set session_replication_role = replica`, `begin`, LOCK_TIMEOUT, lock, ...clears, `commit`]
  await client.query(statements.join(';'))
  // Such a transaction may have filled a table that was not locked.
  const isMore = (await tablesOf(client)).filter(isFilled).length > filled.length
  return isMore && kept.length > 0 ? clear(empty, kept) : true
}

interface Table {
  name: string
  bytes: number
}

async function tablesOf(client: Client): Promise<Table[]> {
  const { rows } = await client.query<{ name: string; bytes: string }>(TABLES)
  return rows.map(({ name, bytes }) => ({ name, bytes: Number(bytes) }))
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
