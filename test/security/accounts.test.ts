// Registration, logins, API keys and the audit trail.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CORE_SETTINGS } from '../../src/core/config.ts'
import { openPasswords } from '../../src/core/identity/passwords/password.ts'
import { networkOf } from '../../src/core/identity/visitors.ts'
import { readSettings } from '../../src/core/settings.ts'
import { setup } from '../contract/core/setup.ts'

const PASSWORD = 'a long password'

describe('registration', () => {
  test('is limited per address, with Retry-After, and leaves other addresses alone', async (t) => {
    const { ask } = await setup(t, { env: { REGISTER_RATE_LIMIT_MAX: '3' } })
    const register = (username: string, remoteAddress: string) =>
      ask({ method: 'POST', url: '/api/auth/register', remoteAddress, payload: { username, password: PASSWORD } })

    const statuses = []
    for (let n = 0; n < 4; n += 1) statuses.push((await register(`a${n}`, '192.0.2.1')).statusCode)
    const limited = await register('a5', '192.0.2.1')
    const elsewhere = await register('b', '192.0.2.2')

    assert.deepEqual(statuses, [201, 201, 201, 429])
    assert.equal(limited.json().error.code, 'rate_limited')
    assert(Number(limited.headers['retry-after']) > 0)
    assert.equal(elsewhere.statusCode, 201)
  })

  test('counts a /64 as one IPv6 address', () => {
    assert.equal(networkOf('2001:db8:1:2:3:4:5:6'), networkOf('2001:db8:1:2:ffff::1'))
    assert.notEqual(networkOf('2001:db8:1:2::1'), networkOf('2001:db8:1:3::1'))
    assert.equal(networkOf('::ffff:192.0.2.1'), '192.0.2.1')
  })

  test('has a queue of its own: however many register, a login does not wait for them', async () => {
    const passwords = openPasswords()
    const known = await passwords.hash(PASSWORD)
    let registered = 0
    const registrations = Array.from({ length: 30 }, () => passwords.hash(PASSWORD).then(() => (registered += 1)))

    assert.equal(await passwords.verify(known, PASSWORD), true)
    const before = registered
    await Promise.all(registrations)

    assert(before < 15, `${before} of 30 were registered first`)
  })

  test('60 in ten minutes pass by default: a class behind one address', () => {
    const { REGISTER_RATE_LIMIT_MAX: max, REGISTER_RATE_LIMIT_WINDOW: seconds } = readSettings(CORE_SETTINGS, {}, [])

    assert.deepEqual([max, seconds], [60, 600])
  })

  test('REGISTRATION=closed refuses visitors and not admins', async (t) => {
    const { ask, account } = await setup(t, { env: { REGISTRATION: 'closed' } })
    const { token } = await account('root', ['ADMIN'])
    const register = (url: string) =>
      ask({ method: 'POST', url, payload: { username: 'ann', password: PASSWORD, role: 'CLIENT' } })

    assert.equal((await register('/auth/register')).statusCode, 403)
    assert.equal((await register('/api/auth/register')).json().error.code, 'forbidden')
    const payload = { username: 'ann', password: PASSWORD, roles: [] }
    assert.equal((await ask({ method: 'POST', url: '/admin/users', token, payload })).statusCode, 201)
  })

  test('a password has at least 8 characters', async (t) => {
    const { ask } = await setup(t)
    const register = async (password: string) =>
      (await ask({ method: 'POST', url: '/auth/register', payload: { username: 'ann', password, role: 'CLIENT' } }))
        .statusCode

    assert.equal(await register('1234567'), 422)
    assert.equal(await register('12345678'), 201)
  })
})

describe('logins of an account', () => {
  test('are listed without their secrets and can be revoked', async (t) => {
    const { ask, account } = await setup(t)
    const { token } = await account('ann')
    const payload = { username: 'ann', password: 'ann password' }
    const other = await ask({ method: 'POST', url: '/auth/login', payload, headers: { 'user-agent': 'a phone' } })
    const { access_token: otherToken } = other.json()

    const { sessions } = (await ask({ url: '/auth/sessions', token })).json()
    const phone = sessions.find((session: { user_agent: string }) => session.user_agent === 'a phone')
    const revoked = await ask({ method: 'DELETE', url: `/auth/sessions/${phone.id}`, token })
    const again = await ask({ method: 'DELETE', url: `/auth/sessions/${phone.id}`, token })

    assert.equal(sessions.length, 2)
    assert.deepEqual(
      sessions.map((session: { current: boolean }) => session.current),
      [false, true],
    )
    assert(!JSON.stringify(sessions).includes(otherToken))
    assert.deepEqual([revoked.statusCode, again.statusCode], [204, 404])
    assert.equal((await ask({ url: '/auth/me', token: otherToken })).statusCode, 401)
  })

  test("another account's login cannot be revoked", async (t) => {
    const { ask, account } = await setup(t)
    const [ann, bob] = [await account('ann'), await account('bob')]
    const { sessions } = (await ask({ url: '/auth/sessions', token: ann.token })).json()

    const refused = await ask({ method: 'DELETE', url: `/auth/sessions/${sessions[0].id}`, token: bob.token })

    assert.equal(refused.statusCode, 404)
    assert.equal((await ask({ url: '/auth/me', token: ann.token })).statusCode, 200)
  })
})

describe('API keys', () => {
  const make = async (all: Awaited<ReturnType<typeof setup>>, token: string, body: object) =>
    (await all.ask({ method: 'POST', url: '/auth/api-keys', token, payload: { name: 'k', ...body } })).json()

  test("a key with scopes has only those of its account's roles", async (t) => {
    const all = await setup(t)
    const { token } = await all.account('root', ['ADMIN', 'CLIENT'])

    const key = await make(all, token, { scopes: ['CLIENT', 'OPERATOR'] })
    const headers = { 'x-api-key': key.api_key }

    assert.deepEqual(key.scopes, ['CLIENT', 'OPERATOR'])
    assert.deepEqual((await all.ask({ url: '/auth/me', headers })).json().roles, ['PLAYER', 'CLIENT'])
    assert.equal((await all.ask({ url: '/admin/status', headers })).statusCode, 403)
  })

  test('a key past its expiry is refused', async (t) => {
    const all = await setup(t)
    const { token } = await all.account('ann')
    const key = await make(all, token, { expires_in_days: 1 })
    const headers = { 'x-api-key': key.api_key }
    const before = await all.ask({ url: '/auth/me', headers })

    await all.database.query(`update api_keys set expires_at = clock_timestamp() - interval '1 second'`)

    assert(key.expires_at !== null)
    assert.equal(before.statusCode, 200)
    assert.equal((await all.ask({ url: '/auth/me', headers })).statusCode, 401)
  })

  test('the keys of an account that was closed stay revoked when it is reopened', async (t) => {
    const all = await setup(t)
    const { token, accountId } = await all.account('ann')
    const { api_key: key } = await make(all, token, {})

    await all.identity.setActive({ accountId }, false)
    await all.identity.setActive({ accountId }, true)

    assert.equal((await all.ask({ url: '/auth/me', headers: { 'x-api-key': key } })).statusCode, 401)
  })
})

describe('the audit trail', () => {
  test('records sign-ins, role changes and key use, newest first, for admins only', async (t) => {
    const { ask, account, identity } = await setup(t)
    const root = await account('root', ['ADMIN'])
    const ann = await identity.register({ username: 'ann', password: 'ann password', roles: [] })
    const signedIn = await identity.login({ username: 'ann', password: 'ann password', address: '192.0.2.1' })
    assert(ann.ok && signedIn.ok)
    const { token } = signedIn
    const { accountId } = ann.account
    await identity.login({ username: 'ann', password: 'wrong password', address: '192.0.2.1' })
    const made = await identity.createApiKey(accountId, { token, name: 'k', scopes: null, expiresAt: null })
    assert(made.ok)
    for (let n = 0; n < 2; n += 1) await ask({ url: '/auth/me', headers: { 'x-api-key': made.secret } })
    const url = `/admin/users/${accountId}/roles`
    await ask({ method: 'PUT', url, token: root.token, payload: { roles: ['CLIENT'] } })

    const trail = await ask({ url: `/admin/audit?account_id=${accountId}`, token: root.token })
    const events: { event: string; actor_id: number | null; address: string }[] = trail.json().events

    assert.deepEqual(
      events.map(({ event }) => event),
      ['roles_changed', 'api_key_used', 'api_key_created', 'sign_in_failed', 'signed_in', 'account_created'],
    )
    assert.equal(events[0]?.actor_id, root.accountId)
    assert.equal(events[3]?.address, '192.0.2.1')
    assert(!trail.body.includes(made.secret))
    assert.equal((await ask({ url: '/admin/audit', token })).statusCode, 403)
  })
})
