// What an admin does to the accounts of others, and what the audit trail says of it.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { setup } from './setup.ts'

async function setupAdmin(t: TestContext) {
  const world = await setup(t, { env: { LOGIN_RATE_LIMIT_MAX: '1000' } })
  const root = await world.account('root', ['ADMIN'])
  const ann = await world.account('ann')
  const reset = (id: number, password: unknown, token = root.token) =>
    world.ask({ method: 'PUT', url: `/admin/users/${id}/password`, token, payload: { password } })
  const login = async (username: string, password: string) =>
    (await world.ask({ method: 'POST', url: '/auth/login', payload: { username, password } })).statusCode
  const statusOf = async (token: string) => (await world.ask({ url: '/auth/me', token })).statusCode
  return { ...world, root, ann, reset, login, statusOf }
}

describe('/admin/users/{id}/password', () => {
  test('the account gets the new password, all its logins end, its keys stay, and the trail names the admin', async (t) => {
    const { ask, root, ann, reset, login, statusOf } = await setupAdmin(t)
    const key = await ask({ method: 'POST', url: '/auth/api-keys', token: ann.token, payload: { name: 'robot' } })

    const answer = await reset(ann.accountId, 'a better one')

    assert.deepEqual([answer.statusCode, answer.body], [204, ''])
    assert.deepEqual([await statusOf(ann.token), await statusOf(root.token)], [401, 200])
    assert.deepEqual([await login('ann', 'ann password'), await login('ann', 'a better one')], [401, 200])
    assert.equal((await ask({ url: '/auth/me', headers: { 'x-api-key': key.json().api_key } })).statusCode, 200)
    const { events } = (await ask({ url: `/admin/audit?account_id=${ann.accountId}`, token: root.token })).json()
    const entry = events.find(({ event }: { event: string }) => event === 'password_reset')
    assert.deepEqual([entry.username, entry.actor_id, entry.actor], ['ann', root.accountId, 'root'])
  })

  test('a refusal changes nothing: bad password, own account, unknown account, guest', async (t) => {
    const { ask, root, ann, reset, login, statusOf, identity } = await setupAdmin(t)
    const guest = await identity.loginGuest({ address: 'here' })
    assert(guest.ok)

    for (const bad of ['short', 'x'.repeat(1025), 5, undefined])
      assert.equal((await reset(ann.accountId, bad)).statusCode, 422)
    assert.equal((await reset(root.accountId, 'a better one')).statusCode, 409)
    assert.equal((await reset(999, 'a better one')).statusCode, 404)
    assert.equal((await reset(guest.account.accountId, 'a better one')).statusCode, 409)
    assert.equal((await reset(root.accountId, 'a better one', ann.token)).statusCode, 403)

    assert.deepEqual(
      [await statusOf(ann.token), await statusOf(root.token), await statusOf(guest.token)],
      [200, 200, 200],
    )
    assert.deepEqual([await login('ann', 'ann password'), await login('root', 'root password')], [200, 200])
    const { events } = (await ask({ url: '/admin/audit', token: root.token })).json()
    assert(!events.some(({ event }: { event: string }) => event === 'password_reset'))
  })

  test('the password is never in the log', async (t) => {
    const { ann, reset, lines } = await setupAdmin(t)

    await reset(ann.accountId, 'canary-new')
    await reset(ann.accountId, 'canary')

    assert.doesNotMatch(lines.join('\n'), /canary/)
  })
})

describe('the list of accounts', () => {
  test('names are found by prefix, whatever the case, page by page', async (t) => {
    const { ask, root, identity } = await setupAdmin(t)
    for (const username of ['Anna', 'bob', 'an%', 'ＡＮＴＯＮ', 'an'])
      assert((await identity.register({ username, password: 'a long password', roles: [] })).ok)
    const find = async (query: string) => {
      const answer = await ask({ url: `/admin/users?${query}`, token: root.token })
      assert.equal(answer.statusCode, 200, query)
      return answer.json().users.map(({ username }: { username: string }) => username)
    }

    assert.deepEqual(await find('name=AN'), ['ann', 'Anna', 'an%', 'ＡＮＴＯＮ', 'an'])
    assert.deepEqual(await find('name=ann'), ['ann', 'Anna'])
    assert.deepEqual(await find('name=an%25'), ['an%'])
    assert.deepEqual(await find('name=an_'), [])
    assert.deepEqual(await find('name=%EF%BC%A1n&limit=1&after=2'), ['Anna'])
    assert.equal((await find('name=')).length, 7)
    assert.equal((await ask({ url: `/admin/users?name=${'x'.repeat(121)}`, token: root.token })).statusCode, 422)
  })

  test('a search for a name that no account can have is not a 5xx', async (t) => {
    const { ask, root } = await setupAdmin(t)

    for (const name of ['%00', 'a%00b', '%F4%8F%BF%BF', '%ED%A0%80', '%EF%B7%BA'.repeat(100)]) {
      const { statusCode } = await ask({ url: `/admin/users?name=${name}`, token: root.token })
      assert(statusCode < 500, `${name}: ${statusCode}`)
    }
  })
})

describe('/admin/settings and /admin/status', () => {
  test('settings in force are listed, secrets masked, with what differs from the default marked', async (t) => {
    const { ask, account } = await setup(t, { env: { METRICS_TOKEN: 'canary-token', REGISTRATION: 'closed' } })
    const { token } = await account('root', ['ADMIN'])

    const answer = await ask({ url: '/admin/settings', token })

    assert.doesNotMatch(answer.body, /canary/)
    const find = (wanted: string) => answer.json().settings.find(({ name }: { name: string }) => name === wanted)
    assert.deepEqual([find('METRICS_TOKEN').value, find('METRICS_TOKEN').is_set], ['********', true])
    assert.deepEqual([find('REGISTRATION').value, find('REGISTRATION').is_set], ['closed', true])
    assert.deepEqual([find('OPS_TOKEN').value, find('OPS_TOKEN').is_set], ['', false])
  })

  test('the status shows the disk of the data folder, even if there is no such folder', async (t) => {
    for (const dataDir of ['.', './no/such/folder']) {
      const { ask, account } = await setup(t, { env: { REEVE_DATA_DIR: dataDir } })
      const { token } = await account('root', ['ADMIN'])

      const { disk } = (await ask({ url: '/admin/status', token })).json()

      assert(disk.total_bytes > disk.free_bytes && disk.free_bytes > 0, dataDir)
    }
  })
})

describe('the admin client of the SDK', () => {
  test('manages accounts, reads the audit trail, and returns a failed check instead of throwing', async (t) => {
    const { http, account } = await setup(t, {
      env: { LOGIN_RATE_LIMIT_MAX: '1000' },
      checks: { feed: () => Promise.reject(new Error('gone')) },
    })
    const { token } = await account('root', ['ADMIN'])
    const { url } = await http.listen()
    const { admin } = new ReeveClient({ url, token })

    const { user_id: id } = await admin.createAccount({ username: 'ann', password: 'a long password', roles: [] })
    await admin.setRoles(id, ['OPERATOR'])
    await admin.resetPassword(id, 'another password')
    await ReeveClient.login({ url, username: 'ann', password: 'another password' })
    await admin.setActive(id, false)

    const [found] = await admin.accounts({ name: 'ann' })
    assert.deepEqual([found?.roles, found?.is_active], [['PLAYER', 'OPERATOR'], false])
    const { events, next_before: next } = await admin.audit({ account_id: id })
    assert.deepEqual(
      events.map(({ event, actor }) => [event, actor]),
      [
        ['account_closed', 'root'],
        ['signed_in', null],
        ['password_reset', 'root'],
        ['roles_changed', 'root'],
        ['account_created', 'root'],
      ],
    )
    assert.equal(next, null)
    assert.deepEqual((await admin.readiness()).checks['feed'], 'failed')
    assert((await admin.settings()).length > 50)
    assert.deepEqual((await admin.status()).kinds, ['echo'])
  })
})
