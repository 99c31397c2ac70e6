// The list of running matches, which each process reads every second while a page shows it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database, Queryable } from '../../src/core/db/database.ts'
import { openLiveMatches } from '../../src/doors/arena/read/live-matches.ts'
import { heldMatch, openNode, setup } from './setup.ts'

/** Notes the names of the columns that are read. */
function watched(database: Database, columns: Set<string>): Database {
  const query: Queryable['query'] = async (sql, params) => note(await database.query(sql, params))
  const hotQuery: Queryable['query'] = async (sql, params) => note(await database.hot.query(sql, params))
  const note = <R extends object>(rows: R[]): R[] => {
    for (const row of rows) for (const name of Object.keys(row)) columns.add(name)
    return rows
  }
  return { ...database, query, hot: { ...database.hot, query: hotQuery } }
}

test('the list of running matches reads no inputs, which grow with every tick', async (t) => {
  const { at, first, userIds } = await setup(t, 2)
  const [ann = 0, bob = 0] = userIds
  const { match } = await heldMatch(first, [ann, bob])
  const columns = new Set<string>()
  const { database } = openNode(t, at, 'node 2', (real) => watched(real, columns))
  const live = openLiveMatches({ database })
  const told: unknown[] = []
  const opened = await live.topic.open({
    params: { running: true },
    since: undefined,
    account: { accountId: ann, username: 'p1', roles: ['PLAYER'], isActive: true, createdAt: new Date(0) },
    send: (type, payload) => void told.push([type, payload]),
    room: async () => true,
  })
  await live.loop.runOnce(AbortSignal.timeout(60_000))
  assert(opened.ok)
  opened.close()

  const { matchId, mode, participants, ticks, createdAt } = match
  const players = participants.map(({ userId, username }) => ({ userId, username }))
  assert.deepEqual(told, [['running', { matches: [{ matchId, mode, participants: players, ticks, createdAt }] }]])
  assert(columns.has('match_id'))
  assert(!columns.has('inputs'), [...columns].join(', '))
})
