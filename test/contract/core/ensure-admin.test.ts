import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openIdentity } from '../../../src/core/identity/identity.ts'
import { setup } from './setup.ts'

describe('ensureAdmin', () => {
  test('without settings the first start creates admin with a random password, and later ones create nothing', async (t) => {
    const { identity } = await setup(t)

    const first = await identity.ensureAdmin()
    const second = await identity.ensureAdmin()

    assert.equal(first.created?.username, 'admin')
    assert.match(first.created.password, /^[a-z2-9]{20}$/)
    assert.equal(second.created, null)
    const login = await identity.login({ ...first.created, address: 'here' })
    assert(login.ok && login.account.roles.includes('ADMIN'))
  })

  test('of many servers that start together one makes the admin', async (t) => {
    const { database, config, identity } = await setup(t)
    const servers = Array.from({ length: 8 }, () => openIdentity({ database, config }))

    const answers = await Promise.all(servers.map((server) => server.ensureAdmin()))

    assert.equal(answers.filter(({ created }) => created !== null).length, 1)
    assert.equal((await identity.listAccounts({ after: 0, limit: 10 })).length, 1)
  })

  test('a player who took the name is not made an admin', async (t) => {
    const { identity, account } = await setup(t)
    await account('Admin')

    const { created } = await identity.ensureAdmin()

    assert.equal(created?.username, 'admin-2')
    assert.deepEqual((await identity.findAccount('admin'))?.roles, ['PLAYER'])
  })

  test('every start sets the password and role from the settings, and a new password ends old logins', async (t) => {
    const { database, config, ask, identity } = await setup(t)
    const start = (password: string) =>
      openIdentity({
        database,
        config: { ...config, REEVE_ADMIN_USERNAME: 'boss', REEVE_ADMIN_PASSWORD: password },
      }).ensureAdmin()
    assert.deepEqual(await start('one password'), { what: 'made', created: null })
    const before = await identity.login({ username: 'boss', password: 'one password', address: 'here' })
    assert(before.ok)

    assert.equal((await start('one password')).what, 'kept')
    assert.equal((await ask({ url: '/admin/status', token: before.token })).statusCode, 200)
    assert.equal((await start('two password')).what, 'updated')

    assert.equal((await ask({ url: '/admin/status', token: before.token })).statusCode, 401)
    assert((await identity.login({ username: 'boss', password: 'two password', address: 'here' })).ok)
    assert(!(await identity.login({ username: 'boss', password: 'one password', address: 'here' })).ok)
  })

  test('many servers that start together with one setting agree', async (t) => {
    const { database, config, identity } = await setup(t)
    const named = { ...config, REEVE_ADMIN_USERNAME: 'boss', REEVE_ADMIN_PASSWORD: 'one password' }
    const servers = Array.from({ length: 6 }, () => openIdentity({ database, config: named }))

    await Promise.all(servers.map((server) => server.ensureAdmin()))

    assert((await identity.login({ username: 'boss', password: 'one password', address: 'here' })).ok)
    assert.equal((await identity.listAccounts({ after: 0, limit: 10 })).length, 1)
  })

  test('without a password a new account gets a random one, and an existing account gets the role', async (t) => {
    const { database, config, account, identity } = await setup(t)
    await account('ann')
    const named = (username: string) =>
      openIdentity({ database, config: { ...config, REEVE_ADMIN_USERNAME: username } })

    const known = await named('ann').ensureAdmin()
    const fresh = await named('boss').ensureAdmin()

    assert.equal(known.created, null)
    assert.deepEqual((await identity.findAccount('ann'))?.roles, ['PLAYER', 'ADMIN'])
    assert.equal(fresh.created?.username, 'boss')
  })
})
