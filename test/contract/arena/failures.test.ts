// The contract's four "failure scenarios", one test each.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Client } from 'pg'
import { ask, connect, join, matched, player, QUICK, startServer } from './setup.ts'

describe('arena: failure scenarios', () => {
  test('arena 1.3: without a token protected paths are 401 unauthorized, and /ws is 401 before the upgrade', async (t) => {
    const { url } = await startServer(t)
    const requests = [
      ['POST', '/api/auth/logout'],
      ['GET', '/api/profile'],
      ['GET', '/api/profile/ratings'],
      ['POST', '/api/queue/join'],
      ['POST', '/api/queue/cancel'],
      ['GET', '/api/matches'],
      ['GET', '/api/matches/live'],
      ['GET', '/api/matches/00000000-0000-7000-8000-000000000000'],
      ['GET', '/ops/status'],
    ] as const

    for (const [method, path] of requests) {
      const answer = await ask(url, path, { method, token: 'f'.repeat(64) })
      assert.deepEqual([answer.status, answer.body.success, answer.body.error.code], [401, false, 'unauthorized'], path)
    }
    await assert.rejects(connect(t, url, { token: 'f'.repeat(64) }), /401/)
  })

  test('arena 3.4: a second join is 409 queue_duplicate and leaves one queue entry', async (t) => {
    const { url } = await startServer(t)
    const ann = await player(url, 'ann')
    await join(url, ann)

    const again = await join(url, ann)

    assert.deepEqual([again.status, again.body.error.code], [409, 'queue_duplicate'])
    assert.equal((await ask(url, '/metrics')).body.data.queue.length, 1)
  })

  test('arena 3.9: without an opponent the WebSocket gets queue_timeout at the timeout, not before', async (t) => {
    const { url } = await startServer(t)
    const ann = await player(url, 'ann')
    const line = await connect(t, url, ann)
    const began = performance.now()
    await join(url, ann, { mode: 'normal', timeoutSeconds: 1 })

    const error = await line.error('queue_timeout')
    const ms = performance.now() - began

    assert.deepEqual([error.t, error.seq, error.event], ['error', 0, null])
    assert.equal(error.p.message, '제한 시간 안에 상대를 찾지 못했습니다.')
    assert(ms >= 990, `${ms} ms`)
    assert.equal((await ask(url, '/api/queue/cancel', { method: 'POST', token: ann.token })).status, 404)
    assert.equal((await join(url, ann)).status, 200)
  })

  test('arena 5.4: input after the end is session_not_found, and nothing more is recorded', async (t) => {
    const { url, at } = await startServer(t, { env: QUICK })
    const { annLine, bobLine, sessionId } = await matched(t, url)
    await Promise.all([annLine.event('session.ended'), bobLine.event('session.ended')])
    const client = new Client(at)
    await client.connect()
    t.after(() => client.end())
    const dump = async () =>
      JSON.stringify([
        (await client.query('select * from match_results')).rows,
        (await client.query('select * from rating_applies order by user_id')).rows,
        (await client.query('select * from players order by user_id')).rows,
      ])
    const before = await dump()

    annLine.send('session.input', { sessionId, sequence: 1, targetTick: 1, delta: 3 }, 8)
    const error = await annLine.error()

    assert.deepEqual([error.seq, error.p.code], [8, 'session_not_found'])
    assert.equal(await dump(), before)
    assert.equal((await client.query('select from match_results')).rowCount, 1)
    assert.equal((await client.query('select from rating_applies')).rowCount, 2)
  })

  test('arena 5.5: input between the last tick and the commit is session_closed', async (t) => {
    const { url, at } = await startServer(t, { env: QUICK })
    const client = new Client(at)
    await client.connect()
    t.after(() => client.end())
    await client.query('begin')
    await client.query('lock table match_results in exclusive mode') // nobody can commit a result
    const { annLine, bobLine, sessionId } = await matched(t, url)
    await annLine.next(({ event, p }) => event === 'session.state' && p.tick === 10)

    annLine.send('session.input', { sessionId, sequence: 1, targetTick: 10, delta: 3 }, 8)
    const error = await annLine.error()
    const tooEarly = bobLine.messages.some(({ event }) => event === 'session.ended')
    await client.query('commit')
    const ended = await annLine.event('session.ended')

    assert.deepEqual([error.seq, error.p.code], [8, 'session_closed'])
    assert(!tooEarly, 'the end was told before it was committed')
    assert.equal(ended.p.result.winnerUserId, null)
  })
})
