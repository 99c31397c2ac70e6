// Many who ask for the same thing at once: the database answers them together, and its connections stay free for the ledger.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Pool } from '../../src/core/db/database.ts'
import { newSecret } from '../../src/core/random.ts'
import { openMatchStore } from '../../src/doors/arena/matches/match-store.ts'
import { openResumeTokens } from '../../src/doors/arena/players/resume-tokens.ts'
import { openPages } from '../../src/doors/arena/read/leaderboard.ts'
import { heldMatch, setup } from './setup.ts'

const CROWD = 2000

/** The same pool, watched. */
function counted(pool: Pool) {
  const seen = { queries: 0, atOnce: 0, most: 0 }
  const watched: Pool = {
    inTurn: (work) => pool.inTurn(work),
    transaction: (work) => pool.transaction(work),
    async query(sql, params) {
      seen.queries += 1
      seen.atOnce += 1
      seen.most = Math.max(seen.most, seen.atOnce)
      try {
        return await pool.query(sql, params)
      } finally {
        seen.atOnce -= 1
      }
    },
  }
  return { watched, seen }
}

const crowd = <T>(ask: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: CROWD }, (_, n) => ask(n)))

describe('a crowd', () => {
  test('that asks for one match is answered by a handful of queries', async (t) => {
    const { first, userIds, database } = await setup(t, 2)
    const [ann = 0, bob = 0] = userIds
    const { match } = await heldMatch(first, [ann, bob])
    const { watched, seen } = counted(database.hot)
    const store = openMatchStore(watched)

    const found = await crowd(() => store.find(match.matchId))

    assert(found.every((live) => live?.match.matchId === match.matchId))
    assert(seen.queries <= 4, `${seen.queries} queries`)
  })

  test('that tries one resume token, which is nobody’s, is refused by a handful of queries', async (t) => {
    const { userIds, database } = await setup(t, 2)
    const { watched, seen } = counted(database.hot)
    const rotate = openResumeTokens(watched, 60)
    const token = newSecret()

    const answers = await crowd((n) => rotate({ userId: userIds[n % 2] ?? 0, token }))

    assert(answers.every(({ ok }) => !ok))
    assert(seen.queries <= 4, `${seen.queries} queries`)
  })

  test('that reads the leaderboard has two connections and no more, and those who read the same page share a query', async (t) => {
    const { database } = await setup(t, 30)
    await database.query('update players set games = 1') // the leaderboard lists those who have played
    const { watched, seen } = counted(database.hot)
    const read = openPages(watched)

    const pages = await crowd((n) => read({ page: 1 + (n % 3), size: 10 }))

    assert.deepEqual([pages[0]?.entries[0]?.rank, pages[1]?.entries[0]?.rank, pages[2]?.entries[0]?.rank], [1, 11, 21])
    assert.equal(seen.most, 2)
    assert(seen.queries < CROWD / 5, `${seen.queries} queries`)
  })
})
