// A crowd in the queue: how long from the moment that pairing may begin until everyone is in a match that runs. The players
// are put into the queue by one statement, so that it is the pairing that is measured and not their coming.

import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresServer } from '../servers/postgres.ts'
import type { Teardown } from '../teardown.ts'
import { startReeve } from './reeve-server.ts'

const QUEUE = `
  insert into seats (user_id, mode, expires_at)
  select account_id, 'normal', now() + interval '1 hour' from accounts where username_key like 'player %' order by account_id`
const LEFT = `select count(*)::integer as left from seats where match_id is null`
const RUNNING = `select count(*)::integer as running from jobs where kind = 'match' and state = 'processing'`
const LOOK_MS = 5
const PATIENCE_MS = 60_000

export interface PairingTimes {
  players: number
  /** Until nobody waits. */
  pairedMs: number
  /** Until every match has its node. */
  runningMs: number
}

export async function measurePairing(
  postgres: PostgresServer,
  players: number,
  teardown: Teardown,
): Promise<PairingTimes> {
  const server = await startReeve(postgres, { database: 'arena_pairing', players }, teardown)
  const count = async (sql: string): Promise<number> => {
    const [row] = await server.query(sql)
    return Number(Object.values(row ?? {})[0])
  }
  await server.query(QUEUE)
  const began = performance.now()
  const until = async (holds: () => Promise<boolean>): Promise<number> => {
    while (!(await holds())) {
      if (performance.now() - began > PATIENCE_MS) throw new Error('Pairing is stuck.')
      await sleep(LOOK_MS)
    }
    return performance.now() - began
  }
  const pairedMs = await until(async () => (await count(LEFT)) === 0)
  const runningMs = await until(async () => (await count(RUNNING)) === players / 2)
  console.error(
    `pairing   ${players} players: paired in ${pairedMs.toFixed(0)} ms, running after ${runningMs.toFixed(0)} ms`,
  )
  await server.stop()
  return { players, pairedMs, runningMs }
}
