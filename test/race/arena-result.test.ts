// The end of a match is recorded once, whoever calls how often, and whatever the database does meanwhile.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, test, type TestContext } from 'node:test'
import { Client } from 'pg'
import type { Database } from '../../src/core/db/database.ts'
import { openResultRecorder, TRIES_MAX, type RecordedMatch } from '../../src/doors/arena/matches/record-result.ts'
import { ratingAfter } from '../../src/doors/arena/matches/rating.ts'
import { faulty, type Fault } from '../arena/faults.ts'
import { seeded } from '../support/seeded.ts'
import { heldMatch, openNode, setup, WON } from '../arena/setup.ts'
import { untilBlocked } from './contest.ts'

const FAULTS: readonly Fault[] = ['deadlock', 'serialization_failure', 'lost_before_commit', 'lost_after_commit']
const SEED = Number(process.env['REEVE_TEST_SEED'] ?? randomInt(2 ** 31))

const recorderOf = (node: { database: Database; ledger: Parameters<typeof openResultRecorder>[0]['ledger'] }) =>
  openResultRecorder({ ledger: node.ledger, pool: node.database.hot, leaseMs: 60_000 })

/** One result, two applies, ratings moved once, nobody left in a seat. */
async function assertRecordedOnce(database: Database, userIds: readonly number[]) {
  const [row] = await database.query<Record<string, unknown>>(`
    select (select count(*)::integer from match_results) as results,
           (select count(*)::integer from rating_applies) as applies,
           (select count(*)::integer from seats) as seats,
           (select count(*)::integer from live_matches) as live,
           (select array_agg(state::text) from jobs where kind = 'match') as states`)
  assert.deepEqual(row, { results: 1, applies: 2, seats: 0, live: 0, states: ['done'] })
  const players = await database.query<{ rating: number; games: number; wins: number; losses: number }>(
    'select rating, games, wins, losses from players where user_id = any ($1::bigint[]) order by user_id',
    [userIds],
  )
  const fresh = { rating: 1500, rd: 350, volatility: 0.06, games: 0 }
  assert.deepEqual(players, [
    { rating: ratingAfter(fresh, fresh, 1).rating, games: 1, wins: 1, losses: 0 },
    { rating: ratingAfter(fresh, fresh, 0).rating, games: 1, wins: 0, losses: 1 },
  ])
}

const ENDED = (userId: number): RecordedMatch => ({
  ok: true,
  ended: { reason: 'completed', result: { winnerUserId: userId, ticks: 50 } },
})

describe('the result of a match', () => {
  test(`arena 10.1: finalize 50 times at once over five connections, with faults: one result, two applies (seed ${SEED})`, async (t) => {
    const { at, first, userIds, database } = await setup(t, 2)
    const [ann = 0, bob = 0] = userIds
    const { match, held } = await heldMatch(first, [ann, bob])
    const random = seeded(SEED)
    const met: Fault[] = []
    const next = () => {
      const fault = random() < 0.7 ? (FAULTS[Math.floor(random() * FAULTS.length)] ?? null) : null
      if (fault !== null) met.push(fault)
      return fault
    }
    const nodes = Array.from({ length: 5 }, (_, n) => openNode(t, at, `rival ${n}`, (real) => faulty(real, next)))

    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => {
        const node = nodes[n % nodes.length]
        assert(node !== undefined)
        return recorderOf(node)({ match, held, outcome: WON })
      }),
    )

    const recorded = answers.filter(({ ok }) => ok)
    t.diagnostic(`${met.length} faults, ${answers.length - recorded.length} gave up`)
    assert(recorded.length > 0, 'nobody got through')
    for (const answer of recorded) assert.deepEqual(answer, ENDED(ann))
    for (const answer of answers) if (!answer.ok) assert.equal(answer.code, 'gave_up')
    await assertRecordedOnce(database, userIds)
  })

  for (const fault of FAULTS) {
    test(`${fault}: it is tried again, and recorded once`, async (t) => {
      const { at, first, userIds, database } = await setup(t, 2)
      const [ann = 0, bob = 0] = userIds
      const { match, held } = await heldMatch(first, [ann, bob])
      const faults: Fault[] = [fault, fault]
      const node = openNode(t, at, first.name, (real) => faulty(real, () => faults.shift() ?? null))

      const answer = await recorderOf(node)({ match, held, outcome: WON })

      assert.deepEqual(answer, ENDED(ann))
      assert.deepEqual(faults, [], 'it did not meet the faults')
      await assertRecordedOnce(database, userIds)
    })
  }

  test(`a database that never lets it through is asked ${TRIES_MAX} times, and nothing is recorded`, async (t) => {
    const { at, first, userIds, database } = await setup(t, 2)
    const [ann = 0, bob = 0] = userIds
    const { match, held } = await heldMatch(first, [ann, bob])
    let asked = 0
    const next = () => ((asked += 1), 'lost_before_commit' as const)
    const node = openNode(t, at, first.name, (real) => faulty(real, next))

    const answer = await recorderOf(node)({ match, held, outcome: WON })
    const later = await recorderOf(first)({ match, held, outcome: WON })

    assert.deepEqual(answer, { ok: false, code: 'gave_up' })
    assert.equal(asked, TRIES_MAX)
    assert.deepEqual(later, ENDED(ann))
    await assertRecordedOnce(database, userIds)
  })

  test('arena 10.3: finalize survives a real deadlock of which it is the victim', async (t) => {
    const { at, first, userIds, database } = await setup(t, 2)
    const [ann = 0, bob = 0] = userIds
    const { match, held } = await heldMatch(first, [ann, bob])
    const rival = await rivalOf(t, at)
    const lock = (userId: number) => rival.query('select from players where user_id = $1 for update', [userId])
    // Who waits looks for a deadlock once, after this time: by then the rival must wait as well, also on a machine that pauses.
    await rival.query(`alter database ${at.database} set deadlock_timeout = '5s'`)
    const node = openNode(t, at, first.name)
    await rival.query(`set deadlock_timeout = '60s'`) // the other side notices first
    await rival.query('begin')
    await lock(bob)

    const answer = recorderOf(node)({ match, held, outcome: WON })
    await untilBlocked(database, 1)
    await lock(ann) // which the finalize has by now
    await rival.query('commit')

    assert.deepEqual(await answer, ENDED(ann))
    await assertRecordedOnce(database, userIds)
  })

  test('arena 10.3: finalize survives a connection that is cut while it waits', async (t) => {
    const { at, first, userIds, database } = await setup(t, 2)
    const [ann = 0, bob = 0] = userIds
    const { match, held } = await heldMatch(first, [ann, bob])
    const rival = await rivalOf(t, at)
    await rival.query('begin')
    await rival.query('select from players where user_id = $1 for update', [bob])

    const answer = recorderOf(first)({ match, held, outcome: WON })
    await untilBlocked(database, 1)
    await rival.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    await rival.query('commit')

    assert.deepEqual(await answer, ENDED(ann))
    await assertRecordedOnce(database, userIds)
  })

  test('arena 10.2: two games of one player that end together both count: the second is computed from the first', async (t) => {
    const { at, first, userIds, database } = await setup(t, 3)
    const [ann = 0, bob = 0, carl = 0] = userIds
    const one = await heldMatch(first, [ann, bob])
    // A seat keeps a player from two matches; without it, as after a repair by hand, the chain still holds.
    await database.query('delete from seats where user_id = $1', [ann])
    const two = await heldMatch(first, [ann, carl])
    const other = openNode(t, at, first.name)
    const rival = await rivalOf(t, at)
    await rival.query('begin')
    await rival.query('lock table rating_applies in share row exclusive mode') // both have computed before either writes

    const answers = Promise.all([
      recorderOf(first)({ ...one, outcome: WON }),
      recorderOf(other)({ ...two, outcome: WON }),
    ])
    await untilBlocked(database, 2)
    await rival.query('commit')

    for (const answer of await answers) assert.deepEqual(answer, ENDED(ann))
    const chain = await database.query<{ game: number; rating_before: number; rating_after: number }>(
      'select game, rating_before, rating_after from rating_applies where user_id = $1 order by game',
      [ann],
    )
    assert.deepEqual(
      chain.map(({ game }) => game),
      [1, 2],
    )
    assert.equal(chain[1]?.rating_before, chain[0]?.rating_after)
    const [player] = await database.query('select rating, games, wins from players where user_id = $1', [ann])
    assert.deepEqual(player, { rating: chain[1]?.rating_after, games: 2, wins: 2 })
  })

  test('a node that has lost the match to another records nothing', async (t) => {
    const { at, first, userIds, database } = await setup(t, 2)
    const [ann = 0, bob = 0] = userIds
    const { match, held } = await heldMatch(first, [ann, bob])
    await database.query(`update jobs set lease_until = clock_timestamp() - interval '1 ms' where state = 'processing'`)
    const other = openNode(t, at, 'node 2')
    const taken = await other.ledger.acquire({ jobId: match.matchId, owner: 'node 2', leaseMs: 60_000 })
    assert(taken.ok)

    const late = await recorderOf(first)({ match, held, outcome: { ...WON, positions: [0, 9], winner: 1 } })
    const { jobId, attemptId, owner } = taken.job
    const right = await recorderOf(other)({ match, held: { jobId, attemptId, owner }, outcome: WON })

    assert.deepEqual(late, { ok: false, code: 'lost' })
    assert.deepEqual(right, ENDED(ann))
    await assertRecordedOnce(database, userIds)
  })

  test('a node whose lease has run out, and nobody else has the match, records it under the next attempt', async (t) => {
    const { first, userIds, database } = await setup(t, 2)
    const [ann = 0, bob = 0] = userIds
    const { match, held } = await heldMatch(first, [ann, bob])
    await database.query(`update jobs set lease_until = clock_timestamp() - interval '1 ms' where state = 'processing'`)

    const answer = await recorderOf(first)({ match, held, outcome: WON })

    assert.deepEqual(answer, ENDED(ann))
    const job = await first.ledger.get(match.matchId)
    assert.deepEqual([job?.state, job?.attemptId], ['done', 2])
    await assertRecordedOnce(database, userIds)
  })

  test('a void match and a result that meet: one of them is recorded, and both callers hear which', async (t) => {
    const { at, first, userIds, database } = await setup(t, 2)
    const [ann = 0, bob = 0] = userIds
    const { match, held } = await heldMatch(first, [ann, bob])
    const other = openNode(t, at, first.name)

    const [won, voided] = await Promise.all([
      recorderOf(first)({ match, held, outcome: WON }),
      recorderOf(other)({ match, held, outcome: null }),
    ])

    assert.deepEqual(won, voided)
    const [counts] = await database.query<{ results: number; applies: number; games: number }>(`
      select (select count(*)::integer from match_results) as results,
             (select count(*)::integer from rating_applies) as applies,
             (select sum(games)::integer from players) as games`)
    const isVoid = won.ok && won.ended.reason === 'void'
    assert.deepEqual(counts, isVoid ? { results: 1, applies: 0, games: 0 } : { results: 1, applies: 2, games: 2 })
  })
})

async function rivalOf(t: TestContext, at: ConstructorParameters<typeof Client>[0]): Promise<Client> {
  const rival = new Client(at)
  await rival.connect()
  t.after(() => rival.end())
  return rival
}
