// What the arena asks of the hot connections, whose plans are made once and kept.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { openResultRecorder } from '../../src/doors/arena/matches/record-result.ts'
import { openPresence } from '../../src/doors/arena/players/presence.ts'
import { openResumeTokens } from '../../src/doors/arena/players/resume-tokens.ts'
import { recording, scansOf, type Statement } from '../support/plans.ts'
import { heldMatch, openNode, setup, WON } from './setup.ts'
import { rows } from '../support/size.ts'

const TABLES = ['seats', 'live_matches', 'rating_applies', 'match_results', 'presences', 'resume_tokens', 'join_keys']

const FILL = `
  with made as (
    insert into accounts (username, username_key, password_hash, roles)
    select name, name, '', '{PLAYER}' from (select gen_random_uuid()::text as name from generate_series(1, ${rows(20_000)})) as names
    returning account_id
  ), seated as (
    insert into seats (user_id, mode, expires_at) select account_id, 'rated', now() + interval '1 day' from made
  ), present as (
    insert into presences (user_id, node) select account_id, 'node 2' from made
  )
  insert into resume_tokens (token_hash, user_id, version, expires_at)
  select sha256(account_id::text::bytea), account_id, 1, now() + interval '1 day' from made;
  insert into live_matches (match_id, mode, user_a, user_b, participants, ticks, tick_interval_ms, attempt_id, node)
  select gen_random_uuid(), 'normal', n, n + 1, '[]', 10, 100, 1, 'node 2' from generate_series(1, ${rows(20_000)}) as n;
  insert into match_results (match_id, mode, user_a, user_b, reason, ticks, tick_interval_ms, inputs, created_at)
  select gen_random_uuid(), 'normal', n, n + 1, 'void', 10, 100, '', now() from generate_series(1, ${rows(20_000)}) as n`

const ROWS_USUAL = 20
/** A pass of pairing takes up to two thousand players. */
const ROWS_OF_A_PASS = 2000

test('every hot statement of the arena finds its rows by index, with a plan made on empty tables and on full ones', async (t) => {
  const { statements, database } = await hotStatements(t)
  await database.query(`truncate ${TABLES.join(', ')} cascade`)

  const found = await scansOf(database, statements, { fill: FILL, tables: TABLES })

  assert(statements.length >= 15, statements.map(({ sql }) => sql).join('\n'))
  for (const { when, sql, node, rows } of found) {
    assert(!node.startsWith('Seq Scan'), `${when}: ${node} in ${sql}`)
    const most = sql.includes('order by s.number') ? ROWS_OF_A_PASS : ROWS_USUAL
    assert(rows <= most, `${when}: ${node} touched ${rows} rows in ${sql}`)
  }
})

/** Two who connect, queue, are paired and play to the end; one who gives up. */
async function hotStatements(t: TestContext) {
  const { at, userIds, database } = await setup(t, 3)
  const seen = new Map<string, Statement>()
  const node = openNode(t, at, 'node 1', (real) => recording(real, seen))
  const { hot: pool } = node.database
  const presence = openPresence({ pool, node: 'node 1', tokenTtlSec: 3600 })
  const [ann = 0, bob = 0, cid = 0] = userIds
  const token = 'a'.repeat(64)

  await presence.announceNode()
  for (const userId of [ann, bob])
    await presence.arrive({ userId, resumeToken: userId === ann ? token : 'b'.repeat(64) })
  await openResumeTokens(pool, 3600)({ userId: ann, token })
  await presence.nodesOf([ann, bob])
  await presence.leave(bob)
  await presence.stay(bob)
  const { match, held } = await heldMatch(node, [ann, bob])
  await presence.seatOf(ann)
  await node.store.claim([held], 'node 1')
  await node.store.find(match.matchId)
  const { attemptId } = held
  await node.store.save([{ matchId: match.matchId, attemptId, base: null, tick: 1, inputs: new Uint8Array([1]) }])
  const recorded = await openResultRecorder({ ledger: node.ledger, pool, leaseMs: 60_000 })({
    match,
    held,
    outcome: WON,
  })
  assert(recorded.ok)
  await node.seats.take({ userId: cid, mode: 'rated', timeoutMs: 600_000, idempotency: { key: 'k', bodyHash: 'b' } })
  await node.seats.giveBack(cid)
  await node.seats.expire(10)

  // A rating cannot be written without its result, and looks at `players` alone.
  const isWhole = (sql: string) => TABLES.some((table) => sql.includes(table)) && !sql.includes('rating_before')
  const statements = [...seen.values()].filter(({ sql }) => isWhole(sql))
  return { statements, database }
}
