import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setup } from './setup.ts'
import { startProcessorTimer } from '../../support/processor-time.ts'

const form = { 'content-type': 'application/x-www-form-urlencoded' }

describe('/auth/register', () => {
  test('an account is created with the requested role, in upper or lower case', async (t) => {
    const { ask } = await setup(t)

    const upper = await ask({
      method: 'POST',
      url: '/auth/register',
      payload: { username: 'ann', password: 'p password', role: 'CLIENT' },
    })
    const lower = await ask({
      method: 'POST',
      url: '/auth/register',
      payload: { email: 'bob@example.org', password: 'p password', role: 'worker_owner' },
    })

    assert.equal(upper.statusCode, 201)
    assert.deepEqual(upper.json(), { user_id: 1, username: 'ann', role: 'CLIENT' })
    assert.deepEqual(lower.json(), { user_id: 2, username: 'bob@example.org', role: 'WORKER_OWNER' })
  })

  test('other roles are given by an admin only, and unknown ones by nobody', async (t) => {
    const { ask } = await setup(t)
    const register = (role: string) =>
      ask({ method: 'POST', url: '/auth/register', payload: { username: 'ann', password: 'p password', role } })

    const admin = await register('ADMIN')
    const unknown = await register('KING')

    assert.equal(admin.statusCode, 403)
    assert.deepEqual(admin.json(), { detail: 'Only an admin gives this role' })
    assert.equal(unknown.statusCode, 422)
    assert.deepEqual(unknown.json().detail[0].loc, ['body', 'role'])
  })

  test('a name is taken whatever its case or width', async (t) => {
    const { ask } = await setup(t)
    const register = (username: string) =>
      ask({ method: 'POST', url: '/auth/register', payload: { username, password: 'p password', role: 'CLIENT' } })

    const codes = []
    for (const name of ['Ann', 'ANN', 'ａｎｎ', 'ann ', 'a\u200bnn', '', 'x'.repeat(121), '\u{fdfa}'.repeat(120)]) {
      codes.push((await register(name)).statusCode)
    }

    assert.deepEqual(codes, [201, 409, 409, 422, 422, 422, 422, 422])
  })

  test('of fifty who register one name at once, one gets it', async (t) => {
    const { ask, database } = await setup(t)

    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        ask({
          method: 'POST',
          url: '/api/auth/register',
          payload: { username: n % 2 === 0 ? 'ann' : 'ANN', password: 'p password' },
        }),
      ),
    )

    const codes = answers.map((answer) => answer.statusCode)
    assert.equal(codes.filter((code) => code === 201).length, 1)
    assert.equal(codes.filter((code) => code === 409).length, 49)
    const [row] = await database.query<{ n: number; hash: string }>(
      `select count(*)::integer as n, min(password_hash) as hash from accounts`,
    )
    assert.equal(row?.n, 1)
    assert.match(row.hash, /^\$argon2id\$/)
  })
})

describe('/auth/login', () => {
  test('a form and a JSON body both get a token that every door takes', async (t) => {
    const { ask, account } = await setup(t)
    await account('ann', ['CLIENT'])

    const fromForm = await ask({
      method: 'POST',
      url: '/auth/login',
      headers: form,
      payload: 'grant_type=password&username=ann&password=ann+password',
    })
    const fromJson = await ask({
      method: 'POST',
      url: '/auth/login',
      payload: { email: 'ANN', password: 'ann password' },
    })

    for (const answer of [fromForm, fromJson]) {
      assert.equal(answer.statusCode, 200)
      assert.equal(answer.headers['cache-control'], 'no-store')
      const { access_token: token, ...rest } = answer.json()
      assert.deepEqual(rest, { token_type: 'bearer', expires_in: 3600 })
      assert.match(token, /^[0-9a-f]{64}$/)
      const me = await ask({ url: '/auth/me', token })
      assert.deepEqual(me.json(), { user_id: 1, username: 'ann', roles: ['PLAYER', 'CLIENT'] })
    }
  })

  test('a wrong password, an unknown name and a closed account get the same answer', async (t) => {
    const { ask, account, identity } = await setup(t)
    await account('ann')
    const { accountId } = await account('bob')
    await identity.setActive({ accountId }, false)
    const login = (username: string, password: string) =>
      ask({ method: 'POST', url: '/auth/login', payload: { username, password } })

    const answers = [
      await login('ann', 'no'),
      await login('nobody', 'no'),
      await login('bob', 'bob password'),
      await login('ann', 'x'.repeat(1500)),
    ]

    for (const answer of answers) {
      assert.equal(answer.statusCode, 401)
      assert.deepEqual(answer.json(), { detail: 'Invalid credentials' })
    }
  })

  test('an unknown name takes as long as a wrong password', async (t) => {
    const { identity, account } = await setup(t, { env: { LOGIN_RATE_LIMIT_MAX: '1000' } })
    await account('ann')
    const timed = async (username: string) => {
      const processorMs = startProcessorTimer()
      await identity.login({ username, password: 'wrong password', address: 'here' })
      return processorMs()
    }
    await timed('warm up')

    let [known, unknown] = [Infinity, Infinity]
    for (let n = 0; n < 9; n += 1) {
      known = Math.min(known, await timed('ann'))
      unknown = Math.min(unknown, await timed('nobody'))
    }

    assert(unknown > known * 0.4 && unknown < known * 2.5, `${unknown} ms against ${known} ms`)
  })

  test('the sixth login in a minute is refused, by name and address, even with the right password', async (t) => {
    const { ask, account, database } = await setup(t)
    await account('ann')
    const login = (remoteAddress: string, password = 'no', username = 'ann') =>
      ask({ method: 'POST', url: '/auth/login', remoteAddress, payload: { username, password } })
    for (let n = 0; n < 5; n += 1) assert.equal((await login('10.0.0.1')).statusCode, 401)

    const sixth = await login('10.0.0.1', 'ann password', 'Ann')
    const elsewhere = await login('10.0.0.2', 'ann password')
    const arena = await ask({
      method: 'POST',
      url: '/api/auth/login',
      remoteAddress: '10.0.0.1',
      payload: { username: 'ann', password: 'ann password' },
    })

    assert.equal(sixth.statusCode, 429)
    assert.deepEqual(sixth.json(), { detail: 'Too many login attempts' })
    const retryAfter = Number(sixth.headers['retry-after'])
    assert(retryAfter >= 1 && retryAfter <= 60)
    assert.equal(elsewhere.statusCode, 200)
    assert.equal(arena.statusCode, 429)
    assert.equal(arena.json().error.code, 'rate_limited')

    await database.query(`update rate_windows set ends_at = clock_timestamp() - interval '1 ms'`)
    assert.equal((await login('10.0.0.1', 'ann password')).statusCode, 200)
  })
})

describe('the address of a login', () => {
  const login = (forwarded: string) => ({
    method: 'POST' as const,
    url: '/auth/login',
    headers: { 'x-forwarded-for': forwarded },
    payload: { username: 'ann', password: 'no password' },
  })

  test('X-Forwarded-For is ignored without a proxy', async (t) => {
    const { ask } = await setup(t)
    const codes = []

    for (let n = 0; n < 6; n += 1) codes.push((await ask(login(`10.0.0.${n}`))).statusCode)

    assert.deepEqual(codes, [401, 401, 401, 401, 401, 429])
  })

  test('behind a proxy the address that it appended counts, and what the client put before it does not', async (t) => {
    const { ask } = await setup(t, { env: { TRUST_PROXY: 'true' } })
    const codes = []

    for (let n = 0; n < 6; n += 1) codes.push((await ask(login(`10.0.0.${n}, 192.0.2.1`))).statusCode)
    const other = await ask(login('10.0.0.1, 192.0.2.2'))

    assert.deepEqual(codes, [401, 401, 401, 401, 401, 429])
    assert.equal(other.statusCode, 401)
  })
})

describe('tokens', () => {
  test('a token is stored as a hash, expires by the database’s clock and is then deleted', async (t) => {
    const { ask, account, database, identity } = await setup(t)
    const { token } = await account('ann')
    const [stored] = await database.query<{ hash: Buffer }>(`select token_hash as hash from tokens`)
    assert.equal(stored?.hash.length, 32)
    assert.notEqual(stored.hash.toString('hex'), token)

    await database.query(`update tokens set expires_at = clock_timestamp() - interval '1 ms'`)
    const answer = await ask({ url: '/auth/me', token })
    for (const loop of identity.loops) await loop.runOnce(AbortSignal.timeout(1000))

    assert.equal(answer.statusCode, 401)
    assert.deepEqual(answer.json(), { detail: 'Invalid token' })
    assert.equal(answer.headers['www-authenticate'], 'Bearer')
    assert.deepEqual(await database.query(`select from tokens`), [])
  })

  test('a logout and a changed role take effect with the next request', async (t) => {
    const { ask, account, identity } = await setup(t)
    const admin = await account('root', ['ADMIN'])
    await account('other', ['ADMIN'])
    assert.equal((await ask({ url: '/admin/status', token: admin.token })).statusCode, 200)

    await identity.setRoles(admin, [])
    const demoted = await ask({ url: '/admin/status', token: admin.token })
    const loggedOut = await ask({ method: 'POST', url: '/auth/logout', token: admin.token })
    const again = await ask({ method: 'POST', url: '/auth/logout', token: admin.token })

    assert.equal(demoted.statusCode, 403)
    assert.deepEqual(demoted.json(), { detail: 'Insufficient role' })
    assert.equal(loggedOut.statusCode, 204)
    assert.equal(again.statusCode, 401)
  })

  test('what is not a token is 401: no header, another scheme, garbage, a query', async (t) => {
    const { ask, account } = await setup(t)
    const { token } = await account('ann')
    const headers = [
      {},
      { authorization: token },
      { authorization: `Basic ${token}` },
      { authorization: 'Bearer' },
      { authorization: `Bearer ${token}0` },
      { authorization: `Bearer ${token} x` },
      { 'x-api-key': token },
    ]

    const answers = await Promise.all(headers.map((one) => ask({ url: '/auth/me', headers: one })))
    const query = await ask({ url: `/auth/me?token=${token}&access_token=${token}` })
    const lower = await ask({ url: '/auth/me', headers: { authorization: `bearer ${token}` } })

    assert.deepEqual(
      [...answers, query].map(({ statusCode }) => statusCode),
      Array.from({ length: 8 }, () => 401),
    )
    assert.equal(lower.statusCode, 200)
  })

  test('tokens of concurrent requests are looked up together, and each request gets its own answer', async (t) => {
    const { account, identity } = await setup(t)
    const { token: ann } = await account('ann')
    const { token: bob } = await account('bob')
    const tokens = Array.from({ length: 300 }, (_, n) => (n % 3 === 0 ? ann : n % 3 === 1 ? bob : 'f'.repeat(64)))

    const found = await Promise.all(tokens.map((secret) => identity.authenticate({ kind: 'token', secret })))

    assert(found.every((one, n) => one?.username === ['ann', 'bob', undefined][n % 3]))
  })
})

describe('/auth/api-keys', () => {
  test('a key is shown once, works as X-API-Key with its account’s roles, and can be revoked', async (t) => {
    const { ask, account, database } = await setup(t)
    const { token } = await account('ann', ['CLIENT', 'ADMIN'])
    const made = await ask({ method: 'POST', url: '/auth/api-keys', token, payload: { name: 'ci' } })
    assert.equal(made.statusCode, 201)
    const { api_key: key, ...shown } = made.json()
    assert.match(key, /^reeve_[0-9a-f]{64}$/)

    const withKey = { headers: { 'x-api-key': key } }
    const me = await ask({ url: '/auth/me', ...withKey })
    const admin = await ask({ url: '/admin/status', ...withKey })
    const listed = await ask({ url: '/auth/api-keys', token })
    const revoked = await ask({ method: 'DELETE', url: `/auth/api-keys/${shown.id}`, token })
    const after = await ask({ url: '/auth/me', ...withKey })

    assert.deepEqual(me.json().roles, ['PLAYER', 'CLIENT', 'ADMIN'])
    assert.equal(admin.statusCode, 200)
    assert.equal(listed.json().api_keys.length, 1)
    assert.deepEqual(Object.keys(listed.json().api_keys[0]), [
      'id',
      'name',
      'scopes',
      'expires_at',
      'created_at',
      'last_used_at',
    ])
    assert.notEqual(listed.json().api_keys[0].last_used_at, null)
    assert.equal(revoked.statusCode, 204)
    assert.equal(after.statusCode, 401)
    const stored = await database.query(`select encode(key_hash, 'hex') as hash from api_keys`)
    assert(!JSON.stringify(stored).includes(key.slice(6)))
  })

  test('another account’s key cannot be seen or revoked, and a key cannot create keys', async (t) => {
    const { ask, account } = await setup(t)
    const ann = await account('ann')
    const bob = await account('bob')
    const made = await ask({ method: 'POST', url: '/auth/api-keys', token: ann.token, payload: { name: 'ci' } })

    const revoked = await ask({ method: 'DELETE', url: `/auth/api-keys/${made.json().id}`, token: bob.token })
    const seen = await ask({ url: '/auth/api-keys', token: bob.token })
    const minted = await ask({
      method: 'POST',
      url: '/auth/api-keys',
      headers: { 'x-api-key': made.json().api_key },
      payload: { name: 'more' },
    })

    assert.equal(revoked.statusCode, 404)
    assert.deepEqual(seen.json(), { api_keys: [] })
    assert.equal(minted.statusCode, 403)
  })

  test('an account has at most 100 live keys', async (t) => {
    const { account, identity } = await setup(t)
    const { accountId, token } = await account('ann')

    const answers = await Promise.all(
      Array.from({ length: 105 }, () =>
        identity.createApiKey(accountId, { token, name: 'k', scopes: null, expiresAt: null }),
      ),
    )

    assert.equal(answers.filter((answer) => answer.ok).length, 100)
  })
})

describe('takeRate', () => {
  test('of many at once, exactly the limit is let through, and buckets do not mix', async (t) => {
    const { identity } = await setup(t)
    const limit = { max: 7, windowSec: 60 }

    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) => identity.takeRate(n % 2 === 0 ? 'even' : 'odd', limit)),
    )

    assert.equal(answers.filter((answer, n) => n % 2 === 0 && answer.ok).length, 7)
    assert.equal(answers.filter((answer, n) => n % 2 === 1 && answer.ok).length, 7)
  })
})
