// Reeve as a user starts it, on a database with as many players as are needed. Nobody logs in: a hash of a password takes a
// core for 20 ms, and that is not what is measured.

import { Client } from 'pg'
import { openDatabase } from '../../src/core/db/database.ts'
import { migrate } from '../../src/core/db/migrate.ts'
import { migrationFolders } from '../../src/doors/outline.ts'
import type { PostgresServer } from '../servers/postgres.ts'
import type { Teardown } from '../teardown.ts'
import { TICK_MS } from './game.ts'
import { startPinned, type PinnedServer } from './pinned-process.ts'

// The token is that of players/reeve.ts; the row has its hash.
const SEED = `
  with made as (
    insert into accounts (username, username_key, password_hash, roles)
    select 'player ' || n, 'player ' || n, '', '{PLAYER}' from generate_series(1, $1::integer) as n
    returning account_id, username_key
  ), playing as (
    insert into players (user_id) select account_id from made
  )
  insert into tokens (token_hash, account_id, expires_at)
  select sha256(encode(sha256(('bench token ' || split_part(username_key, ' ', 2))::bytea), 'hex')::bytea), account_id,
         now() + interval '1 day'
    from made`

/** As docs/arena.md advises for a server of many sessions. */
const HEAP_OPTIONS = ['--max-semi-space-size=16', '--heap-growing-percent=100']

export interface ReeveServer extends PinnedServer {
  databaseUrl: string
  query(sql: string): Promise<unknown[]>
}

export async function startReeve(
  postgres: PostgresServer,
  { database, players, env = {} }: { database: string; players: number; env?: Record<string, string> },
  teardown: Teardown,
): Promise<ReeveServer> {
  await postgres.createDatabase(database)
  const { host, port, user } = postgres
  const databaseUrl = `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
  const at = { host, port, user, database }
  const opened = openDatabase(at, () => {})
  await migrate(opened, migrationFolders())
  await opened.close()
  const client = new Client(at)
  await client.connect()
  teardown.add(() => client.end())
  await client.query(SEED, [players])
  await postgres.settle(database)

  const settings = {
    DATABASE_URL: databaseUrl,
    SERVER_PORT: '0',
    LOG_LEVEL: 'warn',
    DOORS: 'arena',
    REEVE_ADMIN_USERNAME: 'admin',
    REEVE_ADMIN_PASSWORD: 'not a secret here',
    SESSION_TICK_INTERVAL_MS: String(TICK_MS),
    SESSION_TICKS: '6000',
    ...env,
  }
  const nodeOptions = process.env['BENCH_NODE_OPTIONS']?.split(' ') ?? []
  const command = [process.execPath, ...HEAP_OPTIONS, ...nodeOptions, 'dist/cli/main.js', 'up']
  const server = await startPinned(command, settings, teardown)
  return { ...server, databaseUrl, query: async (sql) => (await client.query(sql)).rows }
}
