import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { parseConfig } from '../../src/core/config.ts'
import { HttpError } from '../../src/core/http/errors/http-error.ts'
import { assertQuota, openQuotas } from '../../src/core/quotas/quotas.ts'
import { setup as setupServer } from '../contract/core/setup.ts'
import { testDatabase } from '../support/database.ts'

const INSERT_ACCOUNT = `
  insert into accounts (username, username_key, password_hash, roles) values ('ann', 'ann', '', '{PLAYER}')
  returning account_id`

async function setup(t: TestContext, env: Record<string, string> = {}) {
  const { database } = await testDatabase(t)
  const { core: config } = parseConfig(env, {})
  const [row] = await database.query<{ account_id: string }>(INSERT_ACCOUNT)
  const open = () => openQuotas({ database, config })
  return { database, open, quotas: open(), ann: Number(row?.account_id) }
}

describe('stored bytes', () => {
  test('are counted over processes and restarts; deleting makes room', async (t) => {
    const { quotas, open, ann } = await setup(t, { QUOTA_STORED_BYTES: '100' })
    assert.equal((await quotas.stored.take(ann, 60)).ok, true)
    await quotas.close()

    const other = open()
    assert.equal((await other.stored.take(ann, 60)).ok, false)
    other.stored.add(ann, -30)
    await other.close()

    const third = open()
    assert.equal((await third.stored.take(ann, 60)).ok, true)
    assert.deepEqual(
      (await third.usedBy(ann)).find(({ name }) => name === 'stored_bytes'),
      { name: 'stored_bytes', used: 90, max: 100 },
    )
  })

  test('of an account that is gone are forgotten', async (t) => {
    const { quotas, database, ann } = await setup(t)
    quotas.stored.add(ann, 10)
    await database.query('delete from accounts')

    await quotas.close()

    assert.deepEqual(await database.query('select from account_usage'), [])
  })
})

test('sockets are held up to the quota, and a release counts once', async (t) => {
  const { quotas, ann } = await setup(t, { QUOTA_SOCKETS: '2' })
  const [first, second] = [quotas.hold('sockets', ann), quotas.hold('sockets', ann)]
  assert(first !== null && second !== null)
  assert.equal(quotas.hold('sockets', ann), null)

  first()
  first()

  assert(quotas.hold('sockets', ann) !== null)
  assert.equal(quotas.hold('sockets', ann), null)
})

test('a refusal is 429 with a sentence and Retry-After, or 413 for stored bytes', () => {
  const thrown = (name: 'workers' | 'stored_bytes') => {
    try {
      assertQuota({ ok: false, code: 'quota_exceeded', name, max: 5 })
    } catch (error) {
      assert(error instanceof HttpError)
      return [error.status, error.code, error.message, error.headers]
    }
    return assert.fail('nothing was thrown')
  }

  assert.deepEqual(thrown('workers'), [
    429,
    'quota_exceeded',
    'An account has at most 5 workers. Remove one first.',
    { 'retry-after': '1' },
  ])
  assert.deepEqual(thrown('stored_bytes'), [413, 'quota_exceeded', 'At most 5 bytes are stored for an account.', {}])
})

test('GET /auth/quotas: an account sees its own', async (t) => {
  const { ask, account } = await setupServer(t, { env: { QUOTA_SOCKETS: '7' } })
  const { token } = await account('ann')

  const stranger = await ask({ url: '/auth/quotas' })
  const mine = await ask({ url: '/auth/quotas', token })

  assert.equal(stranger.statusCode, 401)
  assert.equal(mine.statusCode, 200)
  assert.deepEqual(mine.json().quotas, [
    { name: 'stored_bytes', used: 0, max: 268_435_456 },
    { name: 'sockets', used: 0, max: 7 },
  ])
})
