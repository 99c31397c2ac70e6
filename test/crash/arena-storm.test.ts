// Ten thousand matches on nodes that are killed at random, with SIGKILL. Every match ends once, completed or void; every
// completed one has moved two ratings, once; no void one has moved any.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { replayInputs, unpackInputs } from '@reeve/sdk/arena-replay'
import type { Database } from '../../src/core/db/database.ts'
import { ratingAfter, type Score } from '../../src/doors/arena/matches/rating.ts'
import { seeded } from '../arena/faults.ts'
import { setup } from '../arena/setup.ts'
import { urlOf } from '../contract/arena/setup.ts'
import { until } from '../support/until.ts'
import type { ArenaNodeOptions } from './arena-node-process.ts'
import { startPeer, type Peer } from './peer.ts'

const MATCHES = 10_000
const NODES = 3
const PLAYERS_PER_NODE = 100
const KILL_EVERY_MS = 2500
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
  { timeout: 240_000 },
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

    let kills = 0
    while ((await count('match_results')) < MATCHES || kills < KILLS_MIN) {
      await sleep(KILL_EVERY_MS * (0.5 + random()))
      const slot = Math.floor(random() * NODES)
      const victim = nodes[slot]
      if (victim === undefined || victim.count('ready') === 0) continue
      await victim.kill()
      nodes[slot] = startNode(slot)
      kills += 1
    }
    for (const node of nodes) {
      await node.heard('ready')
      node.goOn() // enough
    }
    await until(
      'every match has ended',
      async () => (await count('live_matches')) === 0 && (await count('seats')) === 0,
    )
    for (const node of nodes) await node.stop()

    await verify(t, database)
    t.diagnostic(
      `${kills} kills, ${await count(`match_results where reason = 'void'`)} void, ${await count(`jobs where attempt_id > 1`)} taken over`,
    )
  },
)

async function verify(t: TestContext, database: Database): Promise<void> {
  const [wrong] = await database.query(`
    select (select count(*)::integer from jobs where kind = 'match' and state <> 'done') as unended,
           (select count(*)::integer from jobs j where kind = 'match' and not exists
             (select from match_results r where r.match_id = j.job_id)) as without_result,
           (select count(*)::integer from match_results r where not exists (select from jobs j where j.job_id = r.match_id)) as without_job,
           (select count(*)::integer from match_results r
             where (select count(*) from rating_applies a where a.match_id = r.match_id)
                <> case r.reason when 'completed' then 2 else 0 end) as wrongly_applied,
           (select count(*)::integer from players p where games <> (select count(*) from rating_applies a where a.user_id = p.user_id)) as wrong_games,
           (select count(*)::integer from players p where wins <> (select count(*) from match_results r where r.winner_user_id = p.user_id)) as wrong_wins,
           (select count(*)::integer from rank_blocks b full join
             (select place, user_id >> 11 as block, count(*) as n from players group by 1, 2) as p using (place, block)
             where coalesce(b.players, 0) <> coalesce(p.n, 0)) as wrong_counts`)
  assert.deepEqual(wrong, {
    unended: 0,
    without_result: 0,
    without_job: 0,
    wrongly_applied: 0,
    wrong_games: 0,
    wrong_wins: 0,
    wrong_counts: 0,
  })
  await verifyRatings(database)
  await verifyReplays(t, database)
}

interface AppliedRow {
  match_id: string
  user_id: string
  game: number
  score: Score
  rating_before: number
  rating_after: number
  rd_before: number
  rd_after: number
  volatility_before: number
  volatility_after: number
}

/** Each player's chain has no gap and no fork, each link follows from both ratings before it, and its end is the rating. */
async function verifyRatings(database: Database): Promise<void> {
  const rows = await database.query<AppliedRow>('select * from rating_applies order by user_id, game')
  const byMatch = new Map<string, AppliedRow[]>()
  for (const row of rows) byMatch.set(row.match_id, [...(byMatch.get(row.match_id) ?? []), row])
  const last = new Map<string, AppliedRow>()
  for (const row of rows) {
    const before = last.get(row.user_id)
    assert.equal(row.game, (before?.game ?? 0) + 1)
    assert.equal(row.rating_before, before?.rating_after ?? 1500)
    const opponent = byMatch.get(row.match_id)?.find((other) => other.user_id !== row.user_id)
    assert(opponent !== undefined)
    const rating = (of: AppliedRow) => ({
      rating: of.rating_before,
      rd: of.rd_before,
      volatility: of.volatility_before,
      games: of.game - 1,
    })
    const after = ratingAfter(rating(row), rating(opponent), row.score)
    assert.deepEqual([row.rating_after, row.rd_after, row.volatility_after], [after.rating, after.rd, after.volatility])
    last.set(row.user_id, row)
  }
  for (const { user_id: userId, rating } of await database.query<{ user_id: string; rating: number }>(
    'select user_id, rating from players',
  )) {
    assert.equal(rating, last.get(userId)?.rating_after ?? 1500)
  }
}

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
