// Guests, private matches, resigning, and what the opponent is told of a lost connection.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { replayBytes, replayInputs, unpackInputs } from '@reeve/sdk/arena-replay'
import { tokenOf } from '../../support/reeve.ts'
import { until } from '../../support/until.ts'
import { ask, connect, join, matched, player, startServer } from './setup.ts'

const HOUR_MS = 3_600_000
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

  test('arena 2.7: the token of a guest lives for a day after the last connection', async (t) => {
    const { url, database } = await startServer(t)
    const one = await guest(url)
    const expiresInMs = async () => {
      const answer = await fetch(`${url}/auth/sessions`, { headers: { authorization: `Bearer ${one.token}` } })
      const { sessions } = JSON.parse(await answer.text())
      return Date.parse(sessions[0].expires_at) - Date.now()
    }
    const soon = () =>
      database.query(`update tokens set expires_at = clock_timestamp() + interval '10 minutes' where account_id = $1`, [
        one.user.userId,
      ])

    const atFirst = await expiresInMs()
    await soon()
    const line = await connect(t, url, one)
    const connected = await expiresInMs()
    await soon()
    line.socket.close()
    await until('leaving is counted', async () => (await expiresInMs()) > 23 * HOUR_MS)

    assert(atFirst > 23 * HOUR_MS && connected > 23 * HOUR_MS, `${atFirst} ${connected}`)
  })

  test('arena 3.11: mode bot begins at once against the bot, moves no rating, and replays', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '10', SESSION_TICKS: '40' } })
    const ann = await player(url, 'ann')
    const line = await connect(t, url, ann)

    assert.equal((await join(url, ann, { mode: 'bot' })).status, 200)
    const created = await line.event('session.created')
    const ended = await line.event('session.ended')

    assert.deepEqual(created.p.participants, [
      { userId: ann.userId, username: 'ann' },
      { userId: 0, username: 'bot' },
    ])
    assert.deepEqual(ended.p.result, { winnerUserId: 0, ticks: 40 })
    assert.equal((await ask(url, '/api/profile', { token: ann.token })).body.data.matches, 0)
    const { data } = (await ask(url, `/api/matches/${created.p.sessionId}`, { token: ann.token })).body
    const replayed = replayInputs(unpackInputs(replayBytes(data.replay.inputs)), data.ticks)
    assert.equal(data.players[1].username, 'bot')
    assert.equal(replayed.positions[1], data.players[1].position)
    assert(data.players[1].position > 0)
  })

  test('arena 5.9: session.rematch of both players begins another match of the same mode', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '10', SESSION_TICKS: '3' } })
    const { ann, bob, annLine, bobLine, sessionId } = await matched(t, url)
    const eve = await player(url, 'eve')
    const eveLine = await connect(t, url, eve)
    await Promise.all([annLine.event('session.ended'), bobLine.event('session.ended')])

    eveLine.send('session.rematch', { sessionId }, 1)
    annLine.send('session.rematch', { sessionId }, 2)
    const answer = await annLine.event('session.rematch')
    const told = await bobLine.event('session.rematch')
    annLine.send('session.rematch', { sessionId }, 3)
    const again = await annLine.event('session.rematch')
    const joined = await join(url, ann)
    bobLine.send('session.rematch', { sessionId }, 4)
    const created = await bobLine.next(({ event, p }) => event === 'session.created' && p.sessionId !== sessionId)
    await bobLine.next(({ event, p }) => event === 'session.ended' && p.sessionId === created.p.sessionId)

    assert.equal((await eveLine.error()).p.code, 'not_participant')
    assert.deepEqual([answer.seq, again.seq, answer.p.userId], [2, 3, ann.userId])
    assert(Date.parse(answer.p.expiresAt) - Date.now() <= 30_000)
    assert.deepEqual(told.p, { sessionId, userId: ann.userId })
    assert.equal(joined.body.error.code, 'queue_duplicate')
    const ids = created.p.participants.map(({ userId }: { userId: number }) => userId)
    assert.deepEqual(ids.sort(), [ann.userId, bob.userId].sort())
    assert.equal((await ask(url, '/api/profile', { token: bob.token })).body.data.matches, 2)
  })

  test('arena 5.9: a rematch is refused 30 s after the end, and the bot always accepts', async (t) => {
    const { url, database } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '10', SESSION_TICKS: '3' } })
    const ann = await player(url, 'ann')
    const line = await connect(t, url, ann)
    await join(url, ann, { mode: 'bot' })
    const { sessionId } = (await line.event('session.ended')).p

    line.send('session.rematch', { sessionId }, 1)
    const next = await line.next(({ event, p }) => event === 'session.ended' && p.sessionId !== sessionId)
    await database.query(`update match_results set finished_at = finished_at - interval '31 seconds'`)
    for (const id of [sessionId, next.p.sessionId, 'x']) {
      line.send('session.rematch', { sessionId: id }, 2)
      assert.equal((await line.error()).p.code, 'session_not_found')
    }
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
    const found = async (name: string) =>
      (await ask(url, `/api/players?name=${name}`, { token: bob.token })).body.data.players.map(
        ({ username }: { username: string }) => username,
      )

    const names = body.data.entries.map(({ username }: { username: string }) => username)
    assert.deepEqual(names.sort(), ['bob', `player-${ann.userId}`])
    assert.equal(body.data.total, 2)
    assert.equal(profile.body.data.username, `player-${ann.userId}`)
    assert.equal(profile.body.data.matches, 1)
    assert([1, 2].includes(profile.body.data.rank))
    assert.deepEqual([await found('BO'), await found('ann'), await found('nobody')], [['bob'], [], []])
    assert.equal((await ask(url, '/api/players?name=bob')).status, 401)
    assert.equal((await ask(url, '/api/players/999999', { token: bob.token })).status, 404)
  })

  test('arena 8.4: a closed or deleted account is neither listed nor counted, and returns with its rating', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '10', SESSION_TICKS: '3' } })
    const { ann, bob, annLine } = await matched(t, url)
    await annLine.event('session.ended')
    const admin = await tokenOf(url, 'admin')
    const setActive = async (active: boolean) => {
      const answer = await fetch(`${url}/admin/users/${ann.userId}/active`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ active }),
      })
      assert.equal(answer.status, 200, await answer.text())
    }
    const board = async () => {
      const { total, entries } = (await ask(url, '/api/leaderboard')).body.data
      return { total, users: entries.map(({ userId }: { userId: number }) => userId) }
    }

    await setActive(false)
    const closed = await board()
    const profile = await ask(url, `/api/players/${bob.userId}`, { token: bob.token })
    await setActive(true)
    const reopened = await board()

    assert.deepEqual(closed, { total: 1, users: [bob.userId] })
    assert.equal(profile.body.data.rank, 1)
    assert.deepEqual(reopened.users.sort(), [ann.userId, bob.userId].sort())
    assert.equal(reopened.total, 2)

    const headers = { authorization: `Bearer ${admin.token}` }
    const deleted = await fetch(`${url}/admin/users/${ann.userId}`, { method: 'DELETE', headers })
    assert.equal(deleted.status, 204)
    assert.deepEqual(await board(), { total: 1, users: [bob.userId] })
    const { matches } = (await ask(url, '/api/matches', { token: bob.token })).body.data
    assert.match(JSON.stringify(matches), new RegExp(`"deleted-${ann.userId}"`))
  })
})
