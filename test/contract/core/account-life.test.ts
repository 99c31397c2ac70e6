// How accounts come in lists, get a password by a link, and are deleted.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { setup } from './setup.ts'

async function setupAdmin(t: TestContext, env: Record<string, string> = {}) {
  const world = await setup(t, { env: { LOGIN_RATE_LIMIT_MAX: '1000', ...env } })
  const root = await world.account('root', ['ADMIN'])
  const asRoot = (method: 'DELETE' | 'POST' | 'PUT' | 'GET', url: string, payload?: object) =>
    world.ask({ method, url, token: root.token, ...(payload === undefined ? {} : { payload }) })
  const importList = (csv: string | Buffer) =>
    world.ask({
      method: 'POST',
      url: '/admin/users/import',
      token: root.token,
      payload: csv,
      headers: { 'content-type': 'text/csv' },
    })
  const useLink = (token: unknown, password: unknown) =>
    world.ask({ method: 'POST', url: '/auth/password-link', payload: { token, new_password: password } })
  const login = async (username: string, password: string) =>
    (await world.ask({ method: 'POST', url: '/auth/login', payload: { username, password } })).statusCode
  const statusOf = async (token: string) => (await world.ask({ url: '/auth/me', token })).statusCode
  const trailOf = async (id: number): Promise<[string, string, string | null][]> => {
    const { events } = (await asRoot('GET', `/admin/audit?account_id=${id}`)).json()
    return events.map((entry: { event: string; username: string; actor: string | null }) => [
      entry.event,
      entry.username,
      entry.actor,
    ])
  }
  return { ...world, root, asRoot, importList, useLink, login, statusOf, trailOf }
}

describe('a one-time password link', () => {
  test('sets a password once, ends all logins, and is in the trail with the admin who made it', async (t) => {
    const { account, asRoot, useLink, login, statusOf, trailOf } = await setupAdmin(t)
    const ann = await account('ann')

    const made = await asRoot('POST', `/admin/users/${ann.accountId}/password-link`)
    const { token, url, expires_at: expiresAt } = made.json()
    const used = await useLink(token, 'a better one')
    const again = await useLink(token, 'a third one')

    assert.deepEqual([made.statusCode, made.headers['cache-control']], [201, 'no-store'])
    assert.equal(new URL(url).hash, `#${token}`)
    assert.equal(new URL(url).pathname, '/console/password-link')
    const hours = (Date.parse(expiresAt) - Date.now()) / 3_600_000
    assert(hours > 23 && hours < 25, String(hours))
    assert.deepEqual([used.statusCode, used.json()], [200, { user_id: ann.accountId, username: 'ann' }])
    assert.deepEqual(
      [again.statusCode, again.json()],
      [403, { detail: 'The link has been used or replaced, or has expired: ask for a new one' }],
    )
    assert.equal(await statusOf(ann.token), 401)
    assert.deepEqual([await login('ann', 'ann password'), await login('ann', 'a better one')], [401, 200])
    assert.deepEqual((await trailOf(ann.accountId)).slice(2, 4), [
      ['password_link_used', 'ann', null],
      ['password_link_created', 'ann', 'root'],
    ])
  })

  test('used twice at the same moment works once', async (t) => {
    const { account, asRoot, useLink, login } = await setupAdmin(t)
    const ann = await account('ann')
    const { token } = (await asRoot('POST', `/admin/users/${ann.accountId}/password-link`)).json()

    const passwords = ['the first one', 'the second one', 'the third one']
    const answers = await Promise.all(passwords.map((password) => useLink(token, password)))

    assert.deepEqual(answers.map(({ statusCode }) => statusCode).toSorted(), [200, 403, 403])
    const logins = await Promise.all(passwords.map((password) => login('ann', password)))
    assert.deepEqual(
      logins.map((status) => status === 200),
      answers.map(({ statusCode }) => statusCode === 200),
    )
  })

  test('is void after a newer link, a password change, closing the account or expiry, not after a refused password', async (t) => {
    const { account, asRoot, useLink, database } = await setupAdmin(t)
    const ann = await account('ann')
    const path = `/admin/users/${ann.accountId}`
    const newLink = async () => (await asRoot('POST', `${path}/password-link`)).json().token
    const statusOfUse = async (token: string) => (await useLink(token, 'a better one')).statusCode

    const first = await newLink()
    const second = await newLink()
    assert.equal(await statusOfUse(first), 403)
    assert.equal((await useLink(second, 'short')).statusCode, 422)
    assert.equal(await statusOfUse(second), 200)

    const third = await newLink()
    await asRoot('PUT', `${path}/password`, { password: 'by the admin' })
    assert.equal(await statusOfUse(third), 403)

    const fourth = await newLink()
    await asRoot('PUT', `${path}/active`, { active: false })
    assert.equal((await asRoot('POST', `${path}/password-link`)).statusCode, 409)
    await asRoot('PUT', `${path}/active`, { active: true })
    assert.equal(await statusOfUse(fourth), 403)

    const fifth = await newLink()
    await database.query(`update password_links set expires_at = clock_timestamp()`)
    assert.equal(await statusOfUse(fifth), 403)
    for (const bad of ['', 'x', 'f'.repeat(64), 'é'.repeat(64)]) assert.equal(await statusOfUse(bad), 403, bad)
    for (const bad of [5, null, 'f'.repeat(201)]) assert.equal((await useLink(bad, 'a better one')).statusCode, 422)
  })

  test('cannot be made for oneself, a guest or an unknown account, and its token is never in the log', async (t) => {
    const { root, account, asRoot, useLink, identity, lines } = await setupAdmin(t)
    const guest = await identity.loginGuest({ address: 'here' })
    assert(guest.ok)
    const statusFor = async (id: number) => (await asRoot('POST', `/admin/users/${id}/password-link`)).statusCode

    assert.deepEqual(
      [await statusFor(root.accountId), await statusFor(guest.account.accountId), await statusFor(999)],
      [409, 409, 404],
    )
    const { accountId } = await account('ann')
    const { token } = (await asRoot('POST', `/admin/users/${accountId}/password-link`)).json()
    await useLink(token, 'canary password')
    assert.doesNotMatch(lines.join('\n'), new RegExp(`${token}|canary`))
  })

  test('its URL begins with PUBLIC_URL, if that is set', async (t) => {
    const { account, asRoot } = await setupAdmin(t, { PUBLIC_URL: 'https://reeve.example.org/' })
    const { accountId } = await account('ann')

    const { url } = (await asRoot('POST', `/admin/users/${accountId}/password-link`)).json()

    assert.match(url, /^https:\/\/reeve\.example\.org\/console\/password-link#/)
  })
})

describe('a deleted account', () => {
  test('cannot log in or be found, its keys and logins end, and its name is free', async (t) => {
    const { account, ask, asRoot, login, statusOf, identity } = await setupAdmin(t)
    const ann = await account('ann', ['CLIENT'])
    const key = await ask({ method: 'POST', url: '/auth/api-keys', token: ann.token, payload: { name: 'robot' } })

    const deleted = await asRoot('DELETE', `/admin/users/${ann.accountId}`)

    assert.deepEqual([deleted.statusCode, deleted.body], [204, ''])
    assert.deepEqual([await statusOf(ann.token), await login('ann', 'ann password')], [401, 401])
    assert.equal((await ask({ url: '/auth/me', headers: { 'x-api-key': key.json().api_key } })).statusCode, 401)
    const names = (await asRoot('GET', '/admin/users')).json().users.map((user: { username: string }) => user.username)
    assert.deepEqual(names, ['root'])
    assert.deepEqual((await asRoot('GET', '/admin/users?name=deleted')).json().users, [])
    assert((await identity.register({ username: 'ann', password: 'a long password', roles: [] })).ok)
  })

  test('stays in the audit trail as deleted with its number, and is 404 for every other request', async (t) => {
    const { account, asRoot, trailOf, database } = await setupAdmin(t)
    const { accountId } = await account('ann')
    await asRoot('DELETE', `/admin/users/${accountId}`)

    const path = `/admin/users/${accountId}`
    assert.equal((await asRoot('DELETE', path)).statusCode, 404)
    assert.equal((await asRoot('PUT', `${path}/active`, { active: true })).statusCode, 404)
    assert.equal((await asRoot('PUT', `${path}/roles`, { roles: ['ADMIN'] })).statusCode, 404)
    assert.equal((await asRoot('PUT', `${path}/password`, { password: 'a better one' })).statusCode, 404)
    assert.equal((await asRoot('POST', `${path}/password-link`)).statusCode, 404)

    const name = `deleted-${accountId}`
    assert.deepEqual((await trailOf(accountId))[0], ['account_deleted', name, 'root'])
    const [row] = await database.query<object>(`select * from accounts where account_id = $1`, [accountId])
    assert.doesNotMatch(JSON.stringify(row), /ann/)
  })

  test('cannot be one’s own, nor the last admin, even from the server’s own machine', async (t) => {
    const { root, asRoot, identity } = await setupAdmin(t)

    const self = await asRoot('DELETE', `/admin/users/${root.accountId}`)

    assert.deepEqual([self.statusCode, self.json()], [409, { detail: 'Another admin deletes your account' }])
    const last = await identity.deleteAccount({ accountId: root.accountId })
    assert.deepEqual(last, { ok: false, code: 'last_admin' })
  })

  test('the name that it is shown by cannot be registered', async (t) => {
    const { ask } = await setupAdmin(t)
    const register = async (username: string) =>
      (
        await ask({
          method: 'POST',
          url: '/auth/register',
          payload: { username, password: 'a long one', role: 'CLIENT' },
        })
      ).statusCode

    assert.deepEqual(
      [await register('deleted-5'), await register('DELETED-5'), await register('deleted-me')],
      [422, 422, 201],
    )
  })
})

describe('an imported list', () => {
  test('creates accounts with passwords and with links, and a repeated import changes nothing', async (t) => {
    const { importList, useLink, login, trailOf } = await setupAdmin(t)
    const csv = '\u{feff}Username;password;roles\r\nann;"a;long ""one""";client operator\r\n\r\nbob;;\r\nx;short;\r\n'

    const answer = await importList(csv)
    const [ann, bob, refused] = answer.json().rows
    assert.equal(answer.statusCode, 200, answer.body)
    assert.deepEqual([ann.row, ann.username, ann.status, ann.password_link], [2, 'ann', 'created', null])
    assert.deepEqual([bob.row, bob.status], [3, 'created'])
    assert.deepEqual(
      [refused.status, refused.user_id, refused.reason],
      ['refused', null, 'A password has 8 to 1024 characters.'],
    )
    assert.equal(await login('ann', 'a;long "one"'), 200)
    for (const guess of ['', 'nobody has this password']) assert.notEqual(await login('bob', guess), 200)
    assert.equal((await useLink(bob.password_link.token, 'bobs own one')).statusCode, 200)
    assert.equal(await login('bob', 'bobs own one'), 200)
    assert.deepEqual((await trailOf(bob.user_id)).at(-1), ['account_created', 'bob', 'root'])

    const again = (await importList(csv)).json().rows
    assert.deepEqual(
      again.map(({ status, password_link: link }: { status: string; password_link: null }) => [status, link]),
      [
        ['exists', null],
        ['exists', null],
        ['refused', null],
      ],
    )
    assert.equal(await login('bob', 'bobs own one'), 200)
  })

  test('an invalid list creates nothing', async (t) => {
    const { importList, asRoot, ask, root } = await setupAdmin(t)
    const bad = [
      '',
      'name\nann',
      'username,pasword\nann,x',
      'username,username\nann,x',
      'username,roles\nann,KING',
      'username\nann\nbob,too,many',
      'username\n"ann',
      `username\n${'a\n'.repeat(1001)}`,
      `username\n${'x'.repeat(20_000)}`,
      Buffer.from([0x75, 0xff, 0xfe]),
      'username\na\0b',
    ]
    for (const csv of bad) {
      const answer = await importList(csv)
      assert.equal(answer.statusCode, 422, String(csv).slice(0, 30))
      assert.equal(typeof answer.json().detail, 'string')
    }
    assert.equal((await importList('x'.repeat(1024 * 1024 + 1))).statusCode, 413)
    const json = { method: 'POST', url: '/admin/users/import', token: root.token, payload: { users: [] } } as const
    assert((await ask(json)).statusCode < 500)
    assert.equal((await asRoot('GET', '/admin/users')).json().users.length, 1)
  })

  test('the SDK imports, makes links, uses them and deletes', async (t) => {
    const { http, root } = await setupAdmin(t)
    const { url } = await http.listen()
    const { admin } = new ReeveClient({ url, token: root.token })

    const [made] = await admin.importAccounts('username,roles\nann,CLIENT\n')
    assert(made !== undefined && made.user_id !== null && made.password_link !== null)
    const { token } = await admin.createPasswordLink(made.user_id)
    const visitor = new ReeveClient({ url })
    assert.deepEqual(await visitor.account.setPasswordByLink(token, 'anns own one'), {
      user_id: made.user_id,
      username: 'ann',
    })
    await assert.rejects(visitor.account.setPasswordByLink(made.password_link.token, 'another one'), { status: 403 })
    await admin.deleteAccount(made.user_id)
    assert.deepEqual(await admin.accounts({ name: 'ann' }), [])
  })
})
