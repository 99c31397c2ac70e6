import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Client } from 'pg'
import { ask, login, matched, player, startServer } from './setup.ts'

/** Slow enough that an input for the fifth tick arrives before it: after a pause a match catches up on a second of ticks at once. */
const CALM = { SESSION_TICKS: '6', SESSION_TICK_INTERVAL_MS: '500' }

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/
const JSON_TYPE = 'application/json; charset=utf-8'

describe('arena: the envelope', () => {
  test('arena 1.1: a success has data, no error and a timestamp; a failure the reverse, in Korean', async (t) => {
    const { url } = await startServer(t)

    const good = await ask(url, '/api/health')
    const bad = await ask(url, '/api/profile')

    assert.deepEqual(Object.keys(good.body), ['success', 'data', 'error', 'meta'])
    assert.deepEqual([good.body.success, good.body.error], [true, null])
    assert.match(good.body.meta.timestamp, ISO)
    assert.deepEqual(Object.keys(bad.body), ['success', 'data', 'error', 'meta'])
    assert.deepEqual([bad.body.success, bad.body.data], [false, null])
    assert.deepEqual(bad.body.error, {
      code: 'unauthorized',
      message: '인증 토큰이 없거나 유효하지 않습니다.',
      detail: null,
    })
    for (const { headers } of [good, bad]) assert.equal(headers.get('content-type'), JSON_TYPE)
  })

  test('arena 1.2: an unknown path is 404 not_found, in English with Accept-Language: en', async (t) => {
    const { url } = await startServer(t)
    const headers = { 'accept-language': 'en' }

    for (const path of ['/api/nowhere', '/api/queue', '/ops/nowhere']) {
      const answer = await ask(url, path)
      assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'], path)
    }
    assert.equal((await ask(url, '/api/nowhere', { headers })).body.error.message, 'There is no such path.')
    assert.equal((await ask(url, '/api/nowhere')).body.error.message, '존재하지 않는 경로입니다.')
  })
})

describe('arena: internal_error', () => {
  test('arena 1.4: an unexpected failure is 500 internal_error and reveals nothing of its cause', async (t) => {
    const { url, at } = await startServer(t)
    const { token } = await player(url, 'ann')
    const client = new Client(at)
    await client.connect()
    t.after(() => client.end())
    await client.query('alter table seats rename to lost')

    const { status, body } = await ask(url, '/api/queue/cancel', { method: 'POST', token })

    assert.equal(status, 500)
    const message = '서버 내부 오류가 발생했습니다.'
    assert.deepEqual([body.success, body.data], [false, null])
    assert.deepEqual(body.error, { code: 'internal_error', message, detail: null })
  })
})

describe('arena: accounts', () => {
  test('arena 2.1: GET /api/health answers 200 with status ok and version v1.1.0', async (t) => {
    const { url } = await startServer(t)

    const { status, body } = await ask(url, '/api/health')

    assert.equal(status, 200)
    assert.deepEqual(body.data, { status: 'ok', version: 'v1.1.0' })
  })

  test('arena 2.2: register answers 201 with userId and username; 409 duplicate_user; 400 bad_request', async (t) => {
    const { url } = await startServer(t)
    const register = (body: unknown) => ask(url, '/api/auth/register', { body })

    const first = await register({ username: 'user1', password: 'plainPassword' })
    const again = await register({ username: 'user1', password: 'other password' })

    assert.equal(first.status, 201)
    assert.deepEqual(first.body.data, { userId: first.body.data.userId, username: 'user1' })
    assert(Number.isInteger(first.body.data.userId))
    assert.deepEqual([again.status, again.body.error.code], [409, 'duplicate_user'])
    for (const bad of [
      {},
      { username: 'u' },
      { username: 1, password: 'p password' },
      { username: 'u', password: '' },
      '{',
      '[]',
    ]) {
      const answer = await register(bad)
      assert.deepEqual([answer.status, answer.body.error.code], [400, 'bad_request'], JSON.stringify(bad))
    }
  })

  test('arena 2.3: login answers token, expiry and user; unauthorized, bad_request, rate_limited', async (t) => {
    const { url } = await startServer(t, { env: { LOGIN_RATE_LIMIT_MAX: '3', AUTH_TOKEN_TTL_SECONDS: '3600' } })
    await ask(url, '/api/auth/register', { body: { username: 'user1', password: 'pw password' } })
    const attempt = (body: unknown) => ask(url, '/api/auth/login', { body })

    const good = await attempt({ username: 'user1', password: 'pw password' })
    const wrong = await attempt({ username: 'user1', password: 'no password' })
    const broken = await attempt('{"username":')
    await attempt({ username: 'user1', password: 'no password' })
    const limited = await attempt({ username: 'user1', password: 'pw password' })

    assert.equal(good.status, 200)
    assert.deepEqual(Object.keys(good.body.data), ['token', 'expiresAt', 'user'])
    assert.match(good.body.data.token, /^[0-9a-f]+$/)
    assert(Math.abs(Date.parse(good.body.data.expiresAt) - Date.now() - 3_600_000) < 60_000)
    assert.equal(good.body.data.user.username, 'user1')
    assert.deepEqual([wrong.status, wrong.body.error.code], [401, 'unauthorized'])
    assert.deepEqual([broken.status, broken.body.error.code], [400, 'bad_request'])
    assert.deepEqual([limited.status, limited.body.error.code], [429, 'rate_limited'])
  })

  test('arena 2.4: after logout the token is refused everywhere', async (t) => {
    const { url } = await startServer(t)
    const { token } = await player(url, 'ann')

    const out = await ask(url, '/api/auth/logout', { method: 'POST', token })

    assert.deepEqual([out.status, out.body.data], [200, { loggedOut: true }])
    for (const [method, path] of [
      ['POST', '/api/auth/logout'],
      ['GET', '/api/profile'],
      ['POST', '/api/queue/cancel'],
    ] as const) {
      const answer = await ask(url, path, { method, token })
      assert.deepEqual([answer.status, answer.body.error.code], [401, 'unauthorized'], path)
    }
  })

  test('arena 2.5: a new profile has rating 1500 and no matches; a finished match changes it', async (t) => {
    const { url } = await startServer(t, { env: CALM })
    const fresh = await player(url, 'new')

    const before = await ask(url, '/api/profile', { token: fresh.token })
    const { ann, bob, annLine, bobLine, sessionId } = await matched(t, url)
    annLine.send('session.input', { sessionId, sequence: 1, targetTick: 5, delta: 3 })
    await Promise.all([annLine.event('session.ended'), bobLine.event('session.ended')])
    const won = await ask(url, '/api/profile', { token: ann.token })
    const lost = await ask(url, '/api/profile', { token: bob.token })

    assert.deepEqual(before.body.data, {
      userId: fresh.userId,
      username: 'new',
      rating: 1500,
      wins: 0,
      losses: 0,
      matches: 0,
    })
    assert.deepEqual(won.body.data, {
      userId: ann.userId,
      username: 'ann',
      rating: 1662,
      wins: 1,
      losses: 0,
      matches: 1,
    })
    assert.deepEqual(lost.body.data, {
      userId: bob.userId,
      username: 'bob',
      rating: 1338,
      wins: 0,
      losses: 1,
      matches: 1,
    })
  })

  test('arena 2.6: accounts, tokens and ratings survive a restart', async (t) => {
    const first = await startServer(t, { env: CALM })
    const { ann, annLine, sessionId } = await matched(t, first.url)
    annLine.send('session.input', { sessionId, sequence: 1, targetTick: 5, delta: 3 })
    await annLine.event('session.ended')
    await first.stop()

    const second = await startServer(t, { on: first.at })

    assert.equal((await ask(second.url, '/api/profile', { token: ann.token })).body.data.rating, 1662)
    assert.equal((await login(second.url, 'ann')).userId, ann.userId)
  })
})
