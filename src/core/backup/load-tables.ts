// Tables of a backup into an empty database, in one transaction: after a crash in the middle the database is as empty as before.
// Foreign keys are dropped for the time and added again at the end, which checks them; triggers do not run, since what they would
// write is in the backup as well. Neither needs a superuser.
import { pipeline } from 'node:stream/promises'
import type { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { Tx } from '../db/database.ts'
import { migrateIn, type MigrationFolder } from '../db/migrate.ts'
import { BackupError, type EntryHead } from './archive.ts'
import { target } from './dump-tables.ts'

const SETTINGS = `
  set client_encoding = 'UTF8'; set datestyle = 'ISO, YMD'; set timezone = 'UTC'; set intervalstyle = 'postgres';
  set synchronize_seqscans = off; set statement_timeout = 0; set idle_in_transaction_session_timeout = 0`

const IN_SCHEMA = `c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'`
const IS_EMPTY = `
  select not exists (select from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'v', 'S'))
         as is_empty`
const APPLIED = `select owner, name, sha256 from migrations order by owner, name`
const FOREIGN_KEYS = `
  select c.relname as table, k.conname as name, pg_get_constraintdef(k.oid) as definition
    from pg_constraint k join pg_class c on c.oid = k.conrelid where ${IN_SCHEMA} and k.contype = 'f' order by 1, 2`
const TRIGGERS = `
  select t.tgname as name, c.relname as table from pg_trigger t join pg_class c on c.oid = t.tgrelid
   where ${IN_SCHEMA} and not t.tgisinternal`
const TABLES = `select c.relname as name from pg_class c where ${IN_SCHEMA} order by 1`
const SET_SEQUENCE = `select setval(format('%I.%I', current_schema(), $1::text)::regclass, $2::bigint)`

export interface Loading {
  load(head: Extract<EntryHead, { type: 'table' }>, rows: AsyncIterable<Buffer>): Promise<void>
  setSequences(head: Extract<EntryHead, { type: 'sequences' }>): Promise<void>
  /** Adds the foreign keys, which checks them, and commits. */
  commit(): Promise<void>
}

type BackupAbout = Extract<EntryHead, { type: 'about' }>

/** The connection is the caller's: ending it before `commit` undoes everything. */
export async function beginLoading(
  client: Client,
  folders: readonly MigrationFolder[],
  about: BackupAbout,
): Promise<Loading> {
  const all = async <R extends object>(sql: string) => (await client.query<R & Record<string, unknown>>(sql)).rows
  const quoted = (name: string) => client.escapeIdentifier(name)
  await client.query(SETTINGS)
  await client.query('begin')
  const [found] = await all<{ is_empty: boolean }>(IS_EMPTY)
  if (found?.is_empty !== true)
    throw new BackupError('The database is not empty: a backup is restored into an empty one.')
  await migrateIn(asTx(client), folders)
  refuseOtherSchema(about, await all<BackupAbout['migrations'][number]>(APPLIED))

  const foreignKeys = await all<{ table: string; name: string; definition: string }>(FOREIGN_KEYS)
  const triggers = await all<{ table: string; name: string }>(TRIGGERS)
  const tables = await all<{ name: string }>(TABLES)
  for (const { table, name } of foreignKeys) {
    await client.query(`alter table ${quoted(table)} drop constraint ${quoted(name)}`)
  }
  for (const { table, name } of triggers) {
    await client.query(`alter table ${quoted(table)} disable trigger ${quoted(name)}`)
  }
  await client.query(`truncate ${tables.map(({ name }) => quoted(name)).join(', ')}`)

  return {
    load: ({ name, columns }, rows) =>
      pipeline(rows, client.query(copyFrom(`copy ${target(client, name, columns)} from stdin`))),
    async setSequences({ sequences }) {
      for (const { name, value } of sequences) await client.query(SET_SEQUENCE, [name, value])
    },
    async commit() {
      for (const { table, name } of triggers) {
        await client.query(`alter table ${quoted(table)} enable trigger ${quoted(name)}`)
      }
      for (const { table, name, definition } of foreignKeys) {
        await client.query(`alter table ${quoted(table)} add constraint ${quoted(name)} ${definition}`)
      }
      await client.query('commit')
      await client.query('analyze')
    },
  }
}

function refuseOtherSchema(about: BackupAbout, ours: readonly BackupAbout['migrations'][number][]): void {
  const namesOf = (migrations: typeof ours) => migrations.map(({ owner, name, sha256 }) => `${owner}/${name} ${sha256}`)
  const [theirs, here] = [namesOf(about.migrations), namesOf(ours)]
  if (theirs.join() === here.join()) return
  const other = theirs.find((name) => !here.includes(name)) ?? here.find((name) => !theirs.includes(name))
  throw new BackupError(
    `The backup was made by Reeve ${about.reeve} with another schema (${other?.split(' ')[0]}): ` +
      'restore it with that version, then upgrade.',
  )
}

function asTx(client: Client): Tx {
  return {
    inTransaction: true,
    query: async <R extends object>(sql: string, params: readonly unknown[] = []) =>
      (await client.query<R & Record<string, unknown>>(sql, [...params])).rows,
    send: () => {
      throw new Error('A migration waits for its statements.')
    },
    script: async (sql) => void (await client.query(sql)),
  }
}
