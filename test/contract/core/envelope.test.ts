import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { languageOf } from '../../../src/core/http/errors/envelope.ts'
import { setup } from './setup.ts'

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

describe('arena: /api/auth', () => {
  test('arena POST /api/auth/register: 201 with userId and username, 409 duplicate_user', async (t) => {
    const { ask } = await setup(t)
    const register = () =>
      ask({ method: 'POST', url: '/api/auth/register', payload: { username: 'user1', password: 'plainPassword' } })

    const first = await register()
    const second = await register()

    assert.equal(first.statusCode, 201)
    assert.equal(first.headers['content-type'], 'application/json; charset=utf-8')
    const { meta, ...body } = first.json()
    assert.deepEqual(body, { success: true, data: { userId: 1, username: 'user1' }, error: null })
    assert.match(meta.timestamp, ISO)
    assert.equal(second.statusCode, 409)
    const { meta: _, ...failure } = second.json()
    assert.deepEqual(failure, {
      success: false,
      data: null,
      error: { code: 'duplicate_user', message: '이미 존재하는 사용자명입니다.', detail: null },
    })
  })

  test('arena POST /api/auth/login: a token with its expiry and the user; 401 unauthorized otherwise', async (t) => {
    const { ask, account } = await setup(t)
    await account('user1')
    const login = (password: string) =>
      ask({ method: 'POST', url: '/api/auth/login', payload: { username: 'user1', password } })

    const good = await login('user1 password')
    const bad = await login('no')

    assert.equal(good.statusCode, 200)
    const { token, expiresAt, user } = good.json().data
    assert.match(token, /^[0-9a-f]{64}$/)
    assert.match(expiresAt, ISO)
    assert(Math.abs(Date.parse(expiresAt) - Date.now() - 3_600_000) < 60_000)
    assert.deepEqual(user, { userId: 1, username: 'user1' })
    assert.equal(bad.statusCode, 401)
    assert.equal(bad.json().error.code, 'unauthorized')
    assert.equal((await ask({ url: '/auth/me', token })).statusCode, 200)
  })

  test('arena POST /api/auth/logout: the token is void afterwards', async (t) => {
    const { ask, account } = await setup(t)
    const { token } = await account('user1')
    const logout = () => ask({ method: 'POST', url: '/api/auth/logout', token })

    const first = await logout()
    const second = await logout()

    assert.deepEqual(first.json().data, { loggedOut: true })
    assert.equal(second.statusCode, 401)
    assert.equal(second.json().error.code, 'unauthorized')
  })

  test('arena: bad_request for what is missing, of another type, or not JSON', async (t) => {
    const { ask } = await setup(t)
    const headers = { 'content-type': 'application/json' }
    const bodies = [
      '{"username":"u"}',
      '{"username":1,"password":"a password"}',
      '{"username":"","password":"a password"}',
      '{"username":"u","password":null}',
      '{',
      '[]',
      '',
      '"x"',
    ]

    for (const url of ['/api/auth/register', '/api/auth/login']) {
      for (const payload of bodies) {
        const answer = await ask({ method: 'POST', url, headers, payload })
        assert.equal(answer.statusCode, 400, `${url} ${payload}`)
        assert.equal(answer.json().error.code, 'bad_request')
        assert.equal(answer.json().data, null)
      }
    }
  })

  test('messages are English for those who ask for English', async (t) => {
    const { ask } = await setup(t)

    const english = await ask({ url: '/api/nowhere', headers: { 'accept-language': 'en-GB,en;q=0.9,ko;q=0.1' } })
    const korean = await ask({ url: '/api/nowhere' })

    assert.equal(english.json().error.message, 'There is no such path.')
    assert.equal(korean.json().error.message, '존재하지 않는 경로입니다.')
    assert.equal(languageOf('fr, ko;q=0.5, en;q=0.4'), 'ko')
    assert.equal(languageOf('fr'), 'ko')
    assert.equal(languageOf('en;q=0'), 'ko')
  })
})
