// Guests, private matches, resigning, and what the opponent is told of a lost connection.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ask, connect, join, matched, player, startServer } from './setup.ts'

const SLOW = { SESSION_TICK_INTERVAL_MS: '20', SESSION_TICKS: '2000' }

async function guest(url: string) {
  const { status, body } = await ask(url, '/api/auth/guest', { body: {} })
  return { status, token: String(body.data?.token), user: body.data?.user }
}

describe('arena: players', { concurrency: 3 }, () => {
  test('arena 2.7: a guest logs in without a password, and a match of a guest moves no rating', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '10', SESSION_TICKS: '3' } })
    const one = await guest(url)
    const ann = await player(url, 'ann')
    const line = await connect(t, url, one)

    assert.equal((await join(url, one)).status, 200)
    assert.equal((await join(url, ann)).status, 200)
    const ended = await line.event('session.ended')
    const { body } = await ask(url, '/api/profile', { token: ann.token })

    assert.equal(one.status, 200)
    assert.equal(one.user.username, `guest-${one.user.userId}`)
    assert.equal(ended.p.reason, 'completed')
    assert.equal(body.data.matches, 0)
    const board = await ask(url, '/api/leaderboard')
    assert.equal(board.body.data.total, 0)
  })

  test('arena 3.10: mode private pairs two who give the same code, and moves no rating', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '10', SESSION_TICKS: '3' } })
    const [ann, bob, eve] = [await player(url, 'ann'), await player(url, 'bob'), await player(url, 'eve')]
    const line = await connect(t, url, ann)
    const enter = (who: typeof ann, code: string) => join(url, who, { mode: 'private', code, timeoutSeconds: 60 })

    for (const [who, code] of [
      [ann, 'sesame'],
      [eve, 'another'],
      [bob, 'sesame'],
    ] as const)
      assert.equal((await enter(who, code)).status, 200)
    const created = await line.event('session.created')
    await line.event('session.ended')

    const names = created.p.participants.map(({ username }: { username: string }) => username)
    assert.deepEqual(names.sort(), ['ann', 'bob'])
    assert.equal((await ask(url, '/api/profile', { token: ann.token })).body.data.matches, 0)
    for (const body of [{ mode: 'private' }, { mode: 'normal', code: 'sesame' }, { mode: 'private', code: 'abc' }])
      assert.equal((await join(url, ann, body)).body.error.code, 'bad_request')
  })

  test('arena 5.7: session.resign ends the match, and the other player wins', async (t) => {
    const { url } = await startServer(t, { env: SLOW })
    const { ann, annLine, bob, bobLine, sessionId } = await matched(t, url)

    bobLine.send('session.resign', { sessionId: '01a1e1c4-f6c7-70b5-9a08-3c39fa5206f3' }, 1)
    const unknown = await bobLine.error()
    bobLine.send('session.resign', { sessionId }, 2)
    const ended = await annLine.event('session.ended')

    assert.equal(unknown.p.code, 'session_not_found')
    assert.equal(ended.p.reason, 'resigned')
    assert.equal(ended.p.result.winnerUserId, ann.userId)
    assert.equal((await ask(url, '/api/profile', { token: bob.token })).body.data.losses, 1)
    const match = await ask(url, `/api/matches/${sessionId}`, { token: ann.token })
    assert.equal(match.body.data.reason, 'resigned')
  })

  test('arena 5.8: opponent.left and opponent.back tell of a lost connection and its return', async (t) => {
    const { url } = await startServer(t, { env: SLOW })
    const { annLine, bob, bobLine, sessionId } = await matched(t, url)

    bobLine.socket.terminate()
    const left = await annLine.event('opponent.left')
    await connect(t, url, bob)
    const back = await annLine.event('opponent.back')

    assert.deepEqual(left.p, { sessionId, userId: bob.userId })
    assert.deepEqual(back.p, { sessionId, userId: bob.userId })
  })

  test('arena 8.4: the leaderboard lists those who have played, and shows no email address', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '10', SESSION_TICKS: '3' } })
    await player(url, 'nobody')
    const { ann, bob, annLine } = await matched(t, url, ['ann@example.org', 'bob'])
    await annLine.event('session.ended')

    const { body } = await ask(url, '/api/leaderboard')
    const profile = await ask(url, `/api/players/${ann.userId}`, { token: bob.token })

    const names = body.data.entries.map(({ username }: { username: string }) => username)
    assert.deepEqual(names.sort(), ['bob', `player-${ann.userId}`])
    assert.equal(body.data.total, 2)
    assert.equal(profile.body.data.username, `player-${ann.userId}`)
    assert.equal(profile.body.data.matches, 1)
    assert([1, 2].includes(profile.body.data.rank))
    assert.equal((await ask(url, '/api/players/999999', { token: bob.token })).status, 404)
  })
})
