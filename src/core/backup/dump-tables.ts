// Every table of the schema, read in one snapshot: a repeatable-read transaction that locks nothing but the tables' definitions.
// Text format, since a backup of PostgreSQL 15 must be readable by 18.
import type { Client } from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import type { ArchiveWriter, EntryHead, EntryTail } from './archive.ts'

// The format of values must not depend on the settings of either server. A table must be read from its beginning, since a verification
// compares the bytes of two reads.
const SETTINGS = `
  set client_encoding = 'UTF8'; set datestyle = 'ISO, YMD'; set timezone = 'UTC'; set intervalstyle = 'postgres';
  set bytea_output = 'hex'; set extra_float_digits = 1; set synchronize_seqscans = off; set statement_timeout = 0;
  set idle_in_transaction_session_timeout = 0`
const BEGIN = `begin isolation level repeatable read read only`

const TABLES = `
  select c.relname as name, c.relpages::float8 as pages,
         array_agg(a.attname::text order by a.attnum) as columns
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
   where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
   group by c.oid, c.relname order by c.relname`
const SEQUENCES = `
  select sequencename as name, last_value::text as value from pg_sequences
   where schemaname = current_schema() and last_value is not null order by sequencename`
const MIGRATIONS = `select owner, name, sha256 from migrations order by owner, name`
const ABOUT = `select current_setting('server_version') as postgres, clock_timestamp()::text as at`

export interface Table {
  name: string
  columns: string[]
  /** On disk, as of the last vacuum or analyze: for the progress. */
  pages: number
}

export interface TablesSnapshot {
  about: Extract<EntryHead, { type: 'about' }>
  tables: readonly Table[]
  /** Resolves to the size and checksum of the rows. */
  dump(table: Table, archive: ArchiveWriter): Promise<EntryTail>
  /** Read last: a sequence is not part of the snapshot, and must not be behind its table. */
  dumpSequences(archive: ArchiveWriter): Promise<void>
  close(): Promise<void>
}

/** Ends the connection when it is closed. */
export async function openSnapshot(client: Client, version: string): Promise<TablesSnapshot> {
  await client.query(SETTINGS)
  await client.query(BEGIN)
  const { rows: tables } = await client.query<Table>(TABLES)
  const { rows: migrations } = await client.query<{ owner: string; name: string; sha256: string }>(MIGRATIONS)
  const { rows: about } = await client.query<{ postgres: string; at: string }>(ABOUT)
  const { postgres = '', at = '' } = about[0] ?? {}

  return {
    about: { type: 'about', reeve: version, postgres, at, migrations },
    tables,
    dump: ({ name, columns }, archive) =>
      archive.add({ type: 'table', name, columns }, readTable(client, name, columns)),
    async dumpSequences(archive) {
      const { rows: sequences } = await client.query<{ name: string; value: string }>(SEQUENCES)
      await archive.add({ type: 'sequences', sequences })
    },
    close: () => client.end(),
  }
}

/** The rows of a table in the order in which they are stored. */
export function readTable(client: Client, name: string, columns: readonly string[]): AsyncIterable<Buffer> {
  return client.query(copyTo(`copy ${target(client, name, columns)} to stdout`))
}

export const target = (client: Client, name: string, columns: readonly string[]): string =>
  `${client.escapeIdentifier(name)} (${columns.map((column) => client.escapeIdentifier(column)).join(', ')})`
