// Settings of doors: outputs of the pool, matches and replays of the arena. What is still referred to stays.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import { openDatabase, type Tx } from '../../src/core/db/database.ts'
import { matchRetention } from '../../src/doors/arena/matches/retention.ts'
import { migrationFolders } from '../../src/doors/outline.ts'
import { forgetOutputs, releaseTasks } from '../../src/doors/pool/tasks/retention.ts'
import { atEnd } from '../support/cleanup.ts'
import { reusedDatabase } from '../support/database.ts'
import { newAccount, startReeve } from '../support/reeve.ts'

async function setup(t: Parameters<typeof reusedDatabase>[0]) {
  const database = openDatabase(await reusedDatabase(t, migrationFolders()), () => {})
  atEnd(t, () => database.close())
  return database
}

const idOf = (daysAgo: number, n = 0) => {
  const hex = (Date.now() - daysAgo * 86_400_000 + n).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

const ADD_MATCH = `
  insert into match_results (match_id, mode, user_a, user_b, reason, ticks, tick_interval_ms, position_a, position_b, inputs,
                             created_at, finished_at)
  select $1, 'normal', 1, 2, 'completed', 50, 100, 3, 0, '\\x010203', at, at
    from (select clock_timestamp() - $2 * interval '1 day' as at) as r`

describe('retention of the arena', () => {
  test('MATCHES_KEPT_DAYS deletes old matches that moved no rating, page by page; REPLAYS_KEPT_DAYS their inputs', async (t) => {
    const database = await setup(t)
    const old = [idOf(90, 0), idOf(90, 1), idOf(90, 2)]
    const [rated = '', ...others] = old
    const young = idOf(5)
    for (const id of old) await database.query(ADD_MATCH, [id, 90])
    await database.query(ADD_MATCH, [young, 5])
    await database.query(
      `insert into accounts (username, username_key, password_hash, roles) values ('p', 'p', '', '{}')`,
    )
    await database.query(`insert into players (user_id) select account_id from accounts where username = 'p'`)
    await database.query(
      `insert into rating_applies (match_id, user_id, game, opponent_id, score, rating_before, rating_after, rd_before, rd_after,
                                   volatility_before, volatility_after)
       select $1, user_id, 1, 2, 1, 1500, 1510, 350, 340, 0.06, 0.06 from players`,
      [rated],
    )
    const kept = async () =>
      database.query<{ match_id: string; bytes: number }>(
        'select match_id, length(inputs) as bytes from match_results order by match_id',
      )
    const settings = { MATCHES_KEPT_DAYS: 60, REPLAYS_KEPT_DAYS: 30 }
    const deps = { database, clock: systemClock }

    const [never] = matchRetention(deps, { MATCHES_KEPT_DAYS: 0, REPLAYS_KEPT_DAYS: 0 })
    assert.equal(await never?.runOnce(new AbortController().signal), false)
    assert.equal((await kept()).length, 4, 'by default they are kept for ever')
    const [matches, replays] = matchRetention(deps, settings, 2)
    const passes = []
    for (const part of [matches, matches, replays, replays])
      passes.push(await part?.runOnce(new AbortController().signal))

    assert.deepEqual(passes, [true, false, false, false])
    assert.equal(others.length, 2)
    assert.deepEqual(await kept(), [
      { match_id: rated, bytes: 0 },
      { match_id: young, bytes: 3 },
    ])
  })

  test('a match whose inputs are gone is shown with its result, and says so', async (t) => {
    const { url, database } = await startReeve(t, { doors: 'arena' })
    const { token } = await newAccount(url, 'someone')
    const [whole, pruned] = [idOf(1), idOf(2)]
    for (const id of [whole, pruned]) await database.query(ADD_MATCH, [id, 1])
    await database.query(`update match_results set inputs = '' where match_id = $1`, [pruned])

    const replays = []
    for (const id of [whole, pruned]) {
      const answer = await fetch(`${url}/api/matches/${id}`, { headers: { authorization: `Bearer ${token}` } })
      replays.push(JSON.parse(await answer.text()).data.replay)
    }

    assert.deepEqual(
      replays.map(({ inputs, kept }) => [inputs, kept]),
      [
        ['AQID', true],
        ['', false],
      ],
    )
  })
})

describe('retention of the pool', () => {
  test('RESULTS_KEPT_DAYS deletes outputs that have a receipt and that no open quorum compares; hash and signature stay', async (t) => {
    const database = await setup(t)
    const [plain, unreceipted, voting, quorum] = [idOf(40, 0), idOf(40, 1), idOf(40, 2), idOf(40, 3)]
    const add = (assignment: number, jobId: string, quorumId: string | null) =>
      database.query(
        `insert into pool_results (assignment_id, job_id, quorum_id, worker_id, status, output, output_hash, signature, public_key,
                                   finished_at, is_final)
         values ($1, $2, $3, 1, 'completed', '{"n":1}', 'h', 's', 'k', clock_timestamp(), true)`,
        [assignment, jobId, quorumId],
      )
    await add(1, plain, null)
    await add(2, unreceipted, null)
    await add(3, voting, quorum)
    await database.query(`insert into pool_receipts values (1, 1, '{}', 'h1', 's'), (2, 3, '{}', 'h3', 's')`)
    await database.query(
      `insert into pool_quorums (job_id, class_id, quorum, replicas, replicas_max, deadline_at, payload_bytes)
       values ($1, 1, 1, 1, 1, clock_timestamp(), 0)`,
      [quorum],
    )

    const released = await database.transaction((tx) => forgetOutputs(tx, [plain, unreceipted, voting]))

    assert.deepEqual(released, [], 'the summary in the ledger stays')
    const rows = await database.query<{ output: unknown; output_hash: string; signature: string }>(
      'select output, output_hash, signature from pool_results order by assignment_id',
    )
    assert.deepEqual(
      rows.map(({ output }) => output),
      [null, { n: 1 }, { n: 1 }],
    )
    assert(rows.every((row) => row.output_hash === 'h' && row.signature === 's'))
  })

  test('a page of old jobs is found by indexes, however many results there are', async (t) => {
    const database = await setup(t)
    await database.query(
      `insert into pool_results (assignment_id, job_id, worker_id, status, signature, public_key, finished_at, is_final)
       select n, gen_random_uuid(), 1, 'completed', 's', 'k', clock_timestamp(), true from generate_series(1, 20000) as n`,
    )
    await database.query('analyze pool_results')
    const jobIds = Array.from({ length: 20 }, (_, n) => idOf(40, n))

    const plans: string[] = []
    await database.transaction(async (tx) => {
      const explaining: Tx = {
        ...tx,
        query: async (sql, params) => {
          plans.push(JSON.stringify(await tx.query(`explain (format json) ${sql}`, params)))
          return tx.query(sql, params)
        },
      }
      for (const prune of [releaseTasks, forgetOutputs]) await prune(explaining, jobIds)
    })

    assert.equal(plans.length, 5)
    for (const plan of plans) assert.doesNotMatch(plan, /"Seq Scan"[^}]*"Relation Name":"pool_results"/)
  })
})
