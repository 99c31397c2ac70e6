import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openDatabase, type Database } from '../../src/core/db/database.ts'
import { readPage } from '../../src/doors/arena/read/leaderboard.ts'
import { ask, startServer } from '../contract/arena/setup.ts'
import { seeded } from '../support/seeded.ts'
import { openNode, setup } from './setup.ts'

const PLAIN = `
  select row_number() over (order by round(rating)::integer desc, user_id)::integer as rank, user_id::integer as "userId"
    from players order by 1`

const COUNTS = `
  select (select coalesce(sum(players), 0)::integer from rank_places) as places,
         (select coalesce(sum(players), 0)::integer from rank_blocks) as blocks,
         (select count(*)::integer from players) as players,
         (select count(*)::integer from rank_blocks b full join
           (select place, user_id >> 11 as block, count(*) as n from players group by 1, 2) as p using (place, block)
           where coalesce(b.players, 0) <> coalesce(p.n, 0)) as wrong`

async function allPages(database: Database, size: number) {
  const entries = []
  for (let page = 1; ; page += 1) {
    const { entries: some, total } = await readPage(database.hot, { page, size })
    entries.push(...some)
    if (some.length === 0) return { entries, total }
  }
}

describe('the leaderboard', () => {
  test('arena 8.3: every page equals a plain sort, also after concurrent rating changes', async (t) => {
    const { at, first, database, userIds } = await setup(t, 5000)
    await database.query('update players set games = 1') // the leaderboard lists those who have played
    const random = seeded(7)
    const nodes = [first, openNode(t, at, 'node 2'), openNode(t, at, 'node 3')]
    const rate = async (database: Database) => {
      for (let n = 0; n < 30; n += 1) {
        const some = Array.from({ length: 20 }, () => userIds[Math.floor(random() * userIds.length)] ?? 0)
        const deltas = some.map((userId) => ({ user_id: userId, delta: (random() - 0.5) * 80 }))
        await database.hot.query(
          `update players set rating = rating + r.delta from json_to_recordset($1) as r (user_id bigint, delta float8)
            where players.user_id = r.user_id`,
          [JSON.stringify(deltas.sort((a, b) => a.user_id - b.user_id))],
        )
      }
    }
    await Promise.all(nodes.map((node) => rate(node.database)))

    const { entries, total } = await allPages(database, 37)
    const plain = await database.query<{ rank: number; userId: number }>(PLAIN)
    const [counts] = await database.query(COUNTS)

    assert.equal(total, 5000)
    assert.deepEqual(
      entries.map(({ rank, userId }) => ({ rank, userId })),
      plain,
    )
    assert.deepEqual(counts, { places: 5000, blocks: 5000, players: 5000, wrong: 0 })
  })

  test('accounts that come and go are counted', async (t) => {
    const { database, userIds } = await setup(t, 10)
    await database.query('update players set games = 1') // the leaderboard lists those who have played
    await database.query('delete from accounts where account_id = any ($1::bigint[])', [userIds.slice(0, 4)])

    const { entries, total } = await allPages(database, 50)

    assert.equal(total, 6)
    assert.deepEqual(
      entries.map(({ userId }) => userId),
      userIds.slice(4),
    )
    assert.deepEqual((await database.query(COUNTS))[0], { places: 6, blocks: 6, players: 6, wrong: 0 })
  })

  test('a page in the depth of 100,000 accounts that all have one rating touches a few thousand rows, not all', async (t) => {
    const { database } = await setup(t, 100_000)
    await database.query('update players set games = 1') // the leaderboard lists those who have played
    await database.query('vacuum analyze players')
    await database.query('vacuum analyze rank_blocks')
    const before = await rowsRead(database)

    const { entries } = await readPage(database.hot, { page: 1900, size: 50 })

    assert.equal(entries[0]?.rank, 94_951)
    const read = (await rowsRead(database)) - before
    assert(read > 0 && read < 10_000, `${read} rows`)
  })

  test('arena 8.1: the leaderboard lists players best first, ties by user id; page 1 and size 10 by default', async (t) => {
    const { url, at } = await startServer(t)
    for (let n = 1; n <= 12; n += 1) {
      await ask(url, '/api/auth/register', { body: { username: `p${n}`, password: 'p password' } })
    }
    const database = openDatabase(at, () => {})
    t.after(() => database.close())
    await database.query(
      `insert into players (user_id, games) select account_id, 1 from accounts where username like 'p%'`,
    )

    const { status, body } = await ask(url, '/api/leaderboard')
    const second = await ask(url, '/api/leaderboard?page=2&size=10')
    const beyond = await ask(url, '/api/leaderboard?page=1000000&size=50')

    assert.equal(status, 200)
    assert.deepEqual(Object.keys(body.data), ['page', 'size', 'total', 'entries'])
    assert.deepEqual([body.data.page, body.data.size, body.data.total, body.data.entries.length], [1, 10, 12, 10])
    const [first] = body.data.entries
    assert.deepEqual(first, {
      rank: 1,
      userId: first.userId,
      username: 'p1',
      rating: 1500,
      wins: 0,
      losses: 0,
      matches: 1,
    })
    assert.deepEqual(
      second.body.data.entries.map(({ rank, username }: { rank: number; username: string }) => [rank, username]),
      [
        [11, 'p11'],
        [12, 'p12'],
      ],
    )
    assert.deepEqual([beyond.status, beyond.body.data.entries, beyond.body.data.total], [200, [], 12])
  })

  test('arena 8.2: any other page or size is 400 leaderboard_range', async (t) => {
    const { url } = await startServer(t)
    const queries = [
      'page=0',
      'page=-1',
      'page=x',
      'page=1.5',
      'page=',
      'size=0',
      'size=51',
      'size=x',
      'size=-5',
      'page=1&page=2',
      'page=99999999999999999999',
    ]

    for (const query of queries) {
      const { status, body } = await ask(url, `/api/leaderboard?${query}`)
      assert.deepEqual([status, body.error?.code], [400, 'leaderboard_range'], query)
    }
  })
})

/** By all scans of the tables that a page may look at, of this connection's statistics. */
async function rowsRead(database: Database): Promise<number> {
  const flush = (on: Pick<Database, 'query'>) =>
    Array.from({ length: 4 }, () => on.query('select pg_stat_force_next_flush()'))
  await Promise.all([...flush(database.hot), ...flush(database)]) // the latter has filled the tables
  await database.hot.query('select 1')
  const [row] = await database.query<{ n: string }>(`
    select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::text as n from pg_stat_user_tables
     where relname in ('players', 'rank_places', 'rank_blocks')`)
  return Number(row?.n ?? 0)
}
