// The arena's tables with players in them, and nodes that share nothing but the database.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { openDatabase, type Database } from '../../src/core/db/database.ts'
import type { Ledger } from '../../src/core/ledger/ledger.ts'
import { ARENA_SETTINGS, type ArenaSettings } from '../../src/doors/arena/settings.ts'
import { openMatchStore } from '../../src/doors/arena/matches/match-store.ts'
import { pairOnce } from '../../src/doors/arena/queue/pairing.ts'
import { openSeats } from '../../src/doors/arena/queue/seats.ts'
import { readSettings } from '../../src/core/settings.ts'
import { migrationFolders } from '../../src/doors/outline.ts'
import { atEnd } from '../support/cleanup.ts'
import { freshDatabase } from '../support/database.ts'
import { deafBus, openTestLedger } from '../support/ledger.ts'
import type { PgConnection } from '../support/servers.ts'

export const SETTINGS: ArenaSettings = readSettings(ARENA_SETTINGS, {}, [])

const INSERT_ACCOUNTS = `
  insert into accounts (username, username_key, password_hash, roles)
  select 'p' || n, 'p' || n, '', '{PLAYER}' from generate_series(1, $1::integer) as n order by n
  returning account_id`
const INSERT_PLAYERS = `insert into players (user_id) select unnest($1::bigint[])`

export interface Node {
  name: string
  database: Database
  ledger: Ledger
  seats: ReturnType<typeof openSeats>
  store: ReturnType<typeof openMatchStore>
  pair(): ReturnType<typeof pairOnce>
}

export async function setup(t: TestContext, players: number) {
  const at = await freshDatabase(migrationFolders())
  const first = openNode(t, at, 'node 1')
  const rows = await first.database.query<{ account_id: string }>(INSERT_ACCOUNTS, [players])
  const userIds = rows.map((row) => Number(row.account_id))
  await first.database.query(INSERT_PLAYERS, [userIds])
  return { at, first, userIds, database: first.database }
}

export function openNode(
  t: TestContext,
  at: PgConnection,
  name: string,
  wrap: (database: Database) => Database = (database) => database,
): Node {
  const database = wrap(openDatabase(at, () => {}))
  atEnd(t, () => database.close())
  const ledger = openTestLedger({ database, bus: deafBus })
  atEnd(t, () => ledger.close())
  const deps = { database, ledger, outbox: { wake: () => {} }, settings: SETTINGS, node: name }
  return {
    name,
    database,
    ledger,
    seats: openSeats(database.hot),
    store: openMatchStore(database.hot),
    pair: () => pairOnce(deps),
  }
}

/** A match of these two, with its job held by the node. */
export async function heldMatch({ seats, pair, ledger, name }: Node, userIds: readonly [number, number]) {
  for (const userId of userIds) {
    const taken = await seats.take({ userId, mode: 'normal', timeoutMs: 600_000, idempotency: null })
    assert(taken.ok)
  }
  const { paired } = await pair()
  const match = paired.find(({ match }) => match.participants.every(({ userId }) => userIds.includes(userId)))?.match
  assert(match !== undefined)
  const acquired = await ledger.acquire({ jobId: match.matchId, owner: name, leaseMs: 60_000 })
  assert(acquired.ok)
  const { jobId, attemptId, owner } = acquired.job
  return { match, held: { jobId, attemptId, owner } }
}

export const WON = {
  reason: 'completed' as const,
  ticks: 50,
  positions: [5, 3] as const,
  winner: 0 as const,
  inputs: new Uint8Array([1, 2, 3]),
}
