// Joins, cancels and pairing at the same moment, over several connections: nobody is in two sessions, and nobody is lost.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, test } from 'node:test'
import type { Database } from '../../src/core/db/database.ts'
import { openPresence } from '../../src/doors/arena/players/presence.ts'
import { openResumeTokens } from '../../src/doors/arena/players/resume-tokens.ts'
import { newSecret } from '../../src/core/random.ts'
import { seeded } from '../support/seeded.ts'
import { raceRounds } from '../support/size.ts'
import { openNode, setup, type Node } from '../arena/setup.ts'

const ROUNDS = raceRounds(1000)
const PLAYERS = 5
const SEED = Number(process.env['REEVE_TEST_SEED'] ?? randomInt(2 ** 31))

interface Account {
  joined: number
  cancelled: number
  /** How often a join was refused as a duplicate. */
  refused: number
}

/** Deleted, not truncated: that would cost more than the round. */
const CLEAR = `
  with left_seats as (delete from seats), left_matches as (delete from live_matches)
  delete from jobs`
const clear = (database: Database) => database.query(CLEAR)

const shuffled = <T>(items: readonly T[], random: () => number): T[] =>
  items
    .map((item) => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item)

describe('the queue in a race', () => {
  test(`${ROUNDS} rounds of joins and cancels while two nodes pair: every player is where the answers say (seed ${SEED})`, async (t) => {
    const { at, first, userIds, database } = await setup(t, PLAYERS)
    const nodes: Node[] = [first, openNode(t, at, 'node 2')]
    const random = seeded(SEED)
    const pick = () => nodes[Math.floor(random() * nodes.length)] ?? first
    const seen = { matched: 0, cancelled: 0, waiting: 0, refused: 0 }

    for (let round = 0; round < ROUNDS; round += 1) {
      const accounts = new Map(
        userIds.map((userId): [number, Account] => [userId, { joined: 0, cancelled: 0, refused: 0 }]),
      )
      const join = (userId: number, node: Node) => async () => {
        const { ok } = await node.seats.take({ userId, mode: 'normal', timeoutMs: 60_000, idempotency: null })
        const account = accounts.get(userId)
        assert(account !== undefined)
        if (ok) account.joined += 1
        else account.refused += 1
      }
      const cancel = (userId: number, node: Node) => async () => {
        const account = accounts.get(userId)
        assert(account !== undefined)
        if (await node.seats.giveBack(userId)) account.cancelled += 1
      }
      const acts = userIds.flatMap((userId) => [join(userId, pick()), join(userId, pick()), cancel(userId, pick())])
      const passes = nodes.flatMap((node) => [() => node.pair(), () => node.pair()])
      await Promise.all(shuffled([...acts, ...passes], random).map((act) => act()))

      const [seats, live] = await Promise.all([
        database.query<{ user_id: string; match_id: string | null }>('select user_id, match_id from seats'),
        database.query<{ match_id: string; users: string[] }>(
          'select match_id, array[user_a, user_b] as users from live_matches',
        ),
      ])
      for (const [userId, { joined, cancelled, refused }] of accounts) {
        const seat = seats.find((row) => Number(row.user_id) === userId)
        const matches = live.filter(({ users }) => users.map(Number).includes(userId))
        const where = `round ${round}, player ${userId}: ${JSON.stringify({ joined, cancelled, refused, seat, matches })}`
        assert(matches.length <= 1, `in two sessions: ${where}`)
        assert.equal(joined - cancelled, seat === undefined ? 0 : 1, `lost or doubled: ${where}`)
        assert.equal(seat?.match_id ?? undefined, matches[0]?.match_id, `seat and match differ: ${where}`)
        seen.refused += refused
        seen.cancelled += cancelled
        if (seat !== undefined) seen[seat.match_id === null ? 'waiting' : 'matched'] += 1
      }
      await clear(database)
    }
    t.diagnostic(JSON.stringify(seen))
    for (const [what, count] of Object.entries(seen)) assert(count > ROUNDS / 10, `never: ${what}`)
  })

  test('an end by time, a cancel and a pairing of the same seat: exactly one of them has it', async (t) => {
    const { at, first, userIds, database } = await setup(t, 2)
    const other = openNode(t, at, 'node 2')
    const counts = { expired: 0, cancelled: 0, matched: 0 }

    for (let round = 0; round < 150; round += 1) {
      for (const userId of userIds) await first.seats.take({ userId, mode: 'normal', timeoutMs: 4, idempotency: null })
      const [expired, again, cancelled] = await Promise.all([
        first.seats.expire(10).then((gone) => [...gone]),
        other.seats.expire(10),
        other.seats.giveBack(userIds[0] ?? 0),
        first.pair(),
        other.pair(),
      ])
      const seats = await database.query<{ match_id: string | null }>('select match_id from seats')
      const ends = expired.length + again.length + (cancelled ? 1 : 0) + seats.length
      assert.equal(ends, 2, `round ${round}: ${JSON.stringify({ expired, again, cancelled, seats })}`)
      counts.expired += expired.length + again.length
      counts.cancelled += cancelled ? 1 : 0
      counts.matched += seats.filter(({ match_id: id }) => id !== null).length
      await clear(database)
    }
    t.diagnostic(JSON.stringify(counts))
  })

  test('10,000 players are all paired, in the order of arrival, by two nodes at once', async (t) => {
    const { at, first, database } = await setup(t, 10_000)
    const other = openNode(t, at, 'node 2')
    await database.query(`
      insert into seats (user_id, mode, expires_at)
      select account_id, 'normal', now() + interval '1 hour' from accounts where username like 'p%' order by account_id`)

    const pairAll = async (node: Node) => {
      for (;;) if (!(await node.pair()).isFull) return
    }
    await Promise.all([pairAll(first), pairAll(other)])

    const rows = await database.query<{ user_a: string; user_b: string }>(
      'select user_a, user_b from live_matches order by user_a',
    )
    assert.equal(rows.length, 5000)
    assert(rows.every(({ user_a: a, user_b: b }) => Number(b) === Number(a) + 1))
    const [left] = await database.query('select count(*)::integer as n from seats where match_id is null')
    assert.deepEqual(left, { n: 0 })
    const [jobs] = await database.query(
      `select count(*)::integer as n from jobs where kind = 'match' and state = 'pending'`,
    )
    assert.deepEqual(jobs, { n: 5000 })
  })
})

test('a match runs where both players are connected, else where one is, never on a node that is gone', async (t) => {
  const { first, userIds, database } = await setup(t, 10)
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0, j = 0] = userIds
  // Seen in an hour: they must not be gone when this machine pauses.
  for (const name of ['x', 'y', first.name])
    await database.query(`insert into arena_nodes (node, seen_at) values ($1, now() + interval '1 hour')`, [name])
  await database.query(`insert into arena_nodes (node, seen_at) values ('gone', now() - interval '1 minute')`)
  const connected = [
    [a, 'x'], [b, 'y'], [b, 'x'], // both at x
    [c, 'y'], // the other nowhere
    [e, 'x'], [f, first.name], // apart: here rather than there
    [g, 'gone'], [h, 'y'], // one with a node that is gone
    [i, 'gone'], [j, 'gone'], // both
  ] // prettier-ignore
  for (const [userId, node] of connected)
    await database.query('insert into presences (user_id, node) values ($1, $2)', [userId, node])

  for (const userId of [a, b, c, d, e, f, g, h, i, j])
    await first.seats.take({ userId, mode: 'normal', timeoutMs: 60_000, idempotency: null })
  const { paired } = await first.pair()

  assert.deepEqual(
    paired.map(({ node }) => node),
    ['x', 'y', first.name, 'y', first.name],
  )
})

describe('resume tokens in a race', () => {
  test('of twenty who use one token at the same moment over two connections, one gets through', async (t) => {
    const { at, first, userIds } = await setup(t, 1)
    const [userId = 0] = userIds
    const other = openNode(t, at, 'node 2')
    const presence = openPresence({ pool: first.database.hot, node: 'n', tokenTtlSec: 60 })
    const rotates = [first, other].map((node) => openResumeTokens(node.database.hot, 60))

    for (let round = 0; round < 20; round += 1) {
      const token = newSecret()
      await presence.arrive({ userId, resumeToken: token })
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) => rotates[n % 2]?.({ userId, token }) ?? assert.fail()),
      )
      assert.equal(answers.filter(({ ok }) => ok).length, 1)
    }
  })

  test('a player has at most eight live tokens, a token expires, and none is stored as it is', async (t) => {
    const { first, userIds, database } = await setup(t, 1)
    const [userId = 0] = userIds
    const presence = openPresence({ pool: first.database.hot, node: 'n', tokenTtlSec: 60 })
    const rotate = openResumeTokens(first.database.hot, 60)
    const tokens = Array.from({ length: 12 }, () => newSecret())
    for (const resumeToken of tokens) await presence.arrive({ userId, resumeToken })

    const [count] = await database.query<{ n: number }>('select count(*)::integer as n from resume_tokens')
    const oldest = await rotate({ userId, token: tokens[0] ?? '' })
    const newest = await rotate({ userId, token: tokens[11] ?? '' })
    await database.query(`update resume_tokens set expires_at = now() - interval '1 second'`)
    const expired = await rotate({ userId, token: tokens[10] ?? '' })
    const dump = JSON.stringify(await database.query(`select encode(token_hash, 'hex') as hash from resume_tokens`))

    assert.deepEqual(count, { n: 8 })
    assert.deepEqual([oldest.ok, newest.ok, expired.ok], [false, true, false])
    for (const token of tokens) assert(!dump.includes(token))
  })
})
