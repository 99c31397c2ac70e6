// Reeve's embedded PostgreSQL, with every promise kept: fsync, full_page_writes and synchronous_commit on. What is raised
// (WAL before a checkpoint, connections) is raised for all contestants alike and keeps checkpoints out of short
// measurements.

import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, escapeIdentifier, type ClientConfig } from 'pg'
import { startEmbedded } from '../../src/core/embedded/server.ts'
import type { Teardown } from '../teardown.ts'
import { compileSlowDisk } from './slow-disk.ts'

const SETTINGS = {
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
  max_connections: '300',
} as const

const LEAVE_MS_MAX = 5_000
const LEAVE_EVERY_MS = 10
const CONNECTED = 'select count(*) from pg_stat_activity where datname = $1'

export interface PostgresServer {
  /** The folder of the Unix socket. */
  host: string
  port: number
  user: string
  version: string
  settings: string
  /** Of the postmaster. */
  pid: number
  /** A new, empty database, after a checkpoint: nobody pays for the pages another contestant left dirty. */
  createDatabase(name: string): Promise<void>
  dropDatabase(name: string): Promise<void>
  /** What autovacuum would have done by the time a table has grown to its size. */
  settle(name: string): Promise<void>
}

interface PostgresOptions {
  settings?: Readonly<Record<string, string>>
  /** By so much a flush to the disk takes longer. */
  flushMs?: number
}

export async function startPostgres(
  folder: string,
  teardown: Teardown,
  { settings: more = {}, flushMs = 0 }: PostgresOptions = {},
): Promise<PostgresServer> {
  const server = await startEmbedded({
    dataDir: join(folder, 'data'),
    settings: { ...SETTINGS, ...more },
    env: flushMs > 0 ? { LD_PRELOAD: await compileSlowDisk(folder, flushMs) } : {},
  })
  teardown.add(() => server.stop())

  const { host, port, user, database: admin } = server.connection
  const query = (database: string, sql: string, values: string[] = []): Promise<string> =>
    queryOnce({ host, port, user, database }, { sql, values })

  return {
    host,
    port,
    user,
    pid: server.pid,
    version: await query(admin, 'show server_version'),
    settings: [
      ...Object.entries(SETTINGS).map(([name, value]) => `${name} ${value}`),
      ...(flushMs > 0 ? [`${flushMs} ms more per flush`] : []),
    ].join(', '),
    async createDatabase(name) {
      await query(admin, `create database ${escapeIdentifier(name)}`)
      await query(admin, 'checkpoint')
    },
    async dropDatabase(name) {
      // A client that has been told to end may still be connected; to cut it off would be an error in its process.
      const deadline = performance.now() + LEAVE_MS_MAX
      while ((await query(admin, CONNECTED, [name])) !== '0' && performance.now() < deadline)
        await sleep(LEAVE_EVERY_MS)
      await query(admin, `drop database ${escapeIdentifier(name)} with (force)`)
    },
    async settle(name) {
      await query(name, 'vacuum analyze')
      await query(name, 'checkpoint')
    },
  }
}

async function queryOnce(at: ClientConfig, { sql, values }: { sql: string; values: string[] }): Promise<string> {
  const client = new Client(at)
  await client.connect()
  try {
    const { rows } = await client.query<string[]>({ text: sql, values, rowMode: 'array' })
    return String(rows[0]?.[0] ?? '')
  } finally {
    await client.end()
  }
}
