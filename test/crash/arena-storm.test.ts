// Ten thousand matches on nodes that are killed at random, with SIGKILL. Every match ends once, completed or void; every
// completed one has moved two ratings, once; no void one has moved any.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { replayInputs, unpackInputs } from '@reeve/sdk/arena-replay'
import type { Database } from '../../src/core/db/database.ts'
import { setup } from '../arena/setup.ts'
import { urlOf } from '../contract/arena/setup.ts'
import { seeded } from '../support/seeded.ts'
import { stormJobs } from '../support/size.ts'
import { until } from '../support/until.ts'
import type { ArenaNodeOptions } from './arena-node-process.ts'
import { verifyMatches } from './match-checks.ts'
import { startPeer, type Peer } from './peer.ts'

const MATCHES = stormJobs(10_000)
const NODES = 3
const PLAYERS_PER_NODE = 100
const RESULTS_PER_KILL = 500
const KILLS_MIN = 5
const SEED = Number(process.env['REEVE_TEST_SEED'] ?? randomInt(2 ** 31))
const SCRIPT = new URL('arena-node-process.ts', import.meta.url)

const SETTINGS = {
  SESSION_TICK_INTERVAL_MS: '5',
  SESSION_TICKS: '4',
  SESSION_LEASE_SECONDS: '1',
  JOB_LEASE_SEC: '3',
  JOB_HEARTBEAT_SEC: '1',
}

test(
  `${MATCHES} matches on nodes that are killed: no result doubled, no rating moved by a void match (seed ${SEED})`,
  { timeout: stormJobs(240_000) },
  async (t) => {
    const { at, database, userIds } = await setup(t, NODES * PLAYERS_PER_NODE)
    const random = seeded(SEED)
    let started = 0
    const startNode = (slot: number): Peer => {
      started += 1
      // Some void what was left behind for a second, some go on with it.
      const resumeSec = started % 2 === 0 ? '1' : '30'
      const settings = { ...SETTINGS, DATABASE_URL: urlOf(at), SESSION_RESUME_SECONDS: resumeSec }
      const mine = userIds.slice(slot * PLAYERS_PER_NODE, (slot + 1) * PLAYERS_PER_NODE)
      return startPeer(t, SCRIPT, { settings, userIds: mine } satisfies ArenaNodeOptions)
    }
    const nodes = Array.from({ length: NODES }, (_, slot) => startNode(slot))
    const count = async (what: string) =>
      (await database.query<{ n: number }>(`select count(*)::integer as n from ${what}`))[0]?.n ?? 0

    const results = () => count('match_results')
    let kills = 0
    while ((await results()) < MATCHES || kills < KILLS_MIN) {
      // By progress and not by time: a slow machine would do nothing but start nodes.
      const wanted = (await results()) + RESULTS_PER_KILL * (0.5 + random())
      await until('more matches have ended', async () => (await results()) >= wanted, results)
      const slot = Math.floor(random() * NODES)
      const victim = nodes[slot]
      assert(victim !== undefined)
      await victim.heard('ready')
      await victim.kill()
      nodes[slot] = startNode(slot)
      kills += 1
    }
    for (const node of nodes) {
      await node.heard('ready')
      node.goOn() // enough
      await node.heard('quiet')
    }
    // In one statement: between two of them a pair may leave its seats for a match.
    const open = `(select from live_matches union all select from seats) as open`
    await until('every match has ended', async () => (await count(open)) === 0)
    for (const node of nodes) await node.stop()

    await verifyMatches(database)
    await verifyReplays(t, database)
    t.diagnostic(
      `${kills} kills, ${await count(`match_results where reason = 'void'`)} void, ${await count(`jobs where attempt_id > 1`)} taken over`,
    )
  },
)

/** The recorded inputs give the recorded result. */
async function verifyReplays(t: TestContext, database: Database): Promise<void> {
  type ResultRow = {
    ticks: number
    inputs: Buffer
    position_a: number
    position_b: number
    user_a: string
    user_b: string
    winner_user_id: string | null
  }
  const rows = await database.query<ResultRow>(`select * from match_results where reason = 'completed'`)
  let inputs = 0
  for (const row of rows) {
    const recorded = unpackInputs(row.inputs)
    inputs += recorded.length
    const { positions, winner } = replayInputs(recorded, row.ticks)
    assert.deepEqual(positions, [row.position_a, row.position_b])
    assert.equal(winner === null ? null : [row.user_a, row.user_b][winner], row.winner_user_id)
  }
  t.diagnostic(`${rows.length} completed, ${inputs} inputs`)
  assert(inputs > rows.length)
}
