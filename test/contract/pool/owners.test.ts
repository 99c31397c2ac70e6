// "Worker Owner API" of the contract, and what the door adds for owners.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newKey, send, setup } from './setup.ts'

const KEYS = ['id', 'name', 'owner_user_id', 'status', 'region', 'specs_json', 'public_key', 'last_seen_at']

describe('POST /workers/register', () => {
  test('pool 2.1: a worker is registered and returned field for field', async (t) => {
    const { ask, owner } = await setup(t)
    const publicKey = 'YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE'

    const made = await ask(
      'POST',
      '/workers/register',
      { name: 'worker-owner-a', region: 'sa-east-1', public_key: publicKey },
      owner,
    )

    assert.equal(made.status, 201)
    const me = (await ask('GET', '/auth/me', undefined, owner)).body
    assert.deepEqual(Object.keys(made.body), KEYS)
    assert.deepEqual(made.body, {
      id: made.body.id,
      name: 'worker-owner-a',
      owner_user_id: me.user_id,
      status: 'offline',
      region: 'sa-east-1',
      specs_json: null,
      public_key: publicKey,
      last_seen_at: null,
    })
    assert(Number.isSafeInteger(made.body.id))
  })

  test('pool 2.2: region, specs_json and public_key may be absent or null; specs come back as they were sent', async (t) => {
    const { ask, owner, url } = await setup(t)

    const bare = await ask('POST', '/workers/register', { name: 'bare' }, owner)
    const nulls = await ask(
      'POST',
      '/workers/register',
      { name: 'nulls', region: null, specs_json: null, public_key: null },
      owner,
    )
    const exact = '{"name":"exact","specs_json":{"ram":1.0,"serial":12345678901234567890,"z":{},"a":[1e5]},"more":1}'
    const made = await send(url, 'POST', '/workers/register', exact, owner)

    for (const { status, body } of [bare, nulls]) {
      assert.equal(status, 201)
      assert.deepEqual([body.region, body.specs_json, body.public_key], [null, null, null])
    }
    assert(made.text.includes('"specs_json":{"ram":1.0,"serial":12345678901234567890,"z":{},"a":[1e5]}'), made.text)
  })

  test('pool 2.3: a public key is stored unchecked', async (t) => {
    const { ask, owner } = await setup(t)

    const made = await ask('POST', '/workers/register', { name: 'w', public_key: 'not a key at all!' }, owner)

    assert.deepEqual([made.status, made.body.public_key], [201, 'not a key at all!'])
  })

  test('pool 1.1: 401 Invalid token without a token, with a wrong or revoked one, and for a closed account', async (t) => {
    const { ask, account, admin } = await setup(t)
    const body = { name: 'w' }
    const gone = await account('gone', 'WORKER_OWNER')
    await ask('POST', '/auth/logout', undefined, gone)
    const closed = await account('closed', 'WORKER_OWNER')
    const { user_id: id } = (await ask('GET', '/auth/me', undefined, closed)).body
    await ask('PUT', `/admin/users/${id}/active`, { active: false }, admin)

    for (const headers of [{}, { authorization: 'Bearer nonsense' }, { authorization: 'Basic eDp5' }, gone, closed]) {
      const answer = await ask('POST', '/workers/register', body, headers)
      assert.deepEqual([answer.status, answer.body], [401, { detail: 'Invalid token' }])
    }
  })

  test('pool 1.2: 403 Insufficient role, for admins too, before the body is read', async (t) => {
    const { ask, client, admin } = await setup(t)

    for (const by of [client, admin]) {
      const answer = await ask('POST', '/workers/register', { name: 5 }, by)
      assert.deepEqual([answer.status, answer.body], [403, { detail: 'Insufficient role' }])
    }
  })

  test('pool 2.4: 409 Worker name already exists, whoever has it', async (t) => {
    const { ask, owner, account } = await setup(t)
    const other = await account('other', 'WORKER_OWNER')
    await ask('POST', '/workers/register', { name: 'taken' }, owner)

    for (const by of [owner, other]) {
      const answer = await ask('POST', '/workers/register', { name: 'taken' }, by)
      assert.deepEqual([answer.status, answer.body], [409, { detail: 'Worker name already exists' }])
    }
    assert.equal((await ask('GET', '/workers', undefined, owner)).body.workers.length, 1)
  })

  test('pool 2.5: name has 1 to 120 characters, region at most 64, specs_json is an object, else 422 with a list', async (t) => {
    const { ask, owner } = await setup(t)
    const wrong: [body: unknown, field: string][] = [
      [{}, 'name'],
      [{ name: '' }, 'name'],
      [{ name: 'x'.repeat(121) }, 'name'],
      [{ name: 5 }, 'name'],
      [{ name: 'w', region: 'x'.repeat(65) }, 'region'],
      [{ name: 'w', specs_json: [] }, 'specs_json'],
      [{ name: 'w', specs_json: 'x' }, 'specs_json'],
      [{ name: 'w', public_key: 5 }, 'public_key'],
    ]

    for (const [body, field] of wrong) {
      const answer = await ask('POST', '/workers/register', body, owner)
      assert.equal(answer.status, 422, JSON.stringify(body))
      assert(Array.isArray(answer.body.detail))
      assert.deepEqual(answer.body.detail[0].loc.slice(0, 2), ['body', field])
    }
    const longest = await ask('POST', '/workers/register', { name: 'é'.repeat(120), region: 'x'.repeat(64) }, owner)
    assert.equal(longest.status, 201)
    assert.equal((await ask('GET', '/workers', undefined, owner)).body.workers.length, 1)
  })
})

describe('GET /workers', () => {
  test('pool 2.6: GET /workers lists only the owner’s workers, each as it was registered', async (t) => {
    const { ask, owner, account } = await setup(t)
    const other = await account('other', 'WORKER_OWNER')
    const mine = await ask('POST', '/workers/register', { name: 'worker-owned' }, owner)
    await ask('POST', '/workers/register', { name: 'theirs' }, other)

    const { status, body } = await ask('GET', '/workers', undefined, owner)

    assert.equal(status, 200)
    assert.deepEqual(body, { workers: [mine.body] })
  })

  test('pool 1.1: GET /workers answers 401 and 403 as everywhere', async (t) => {
    const { ask, client, admin } = await setup(t)

    const stranger = await ask('GET', '/workers')
    assert.deepEqual([stranger.status, stranger.body], [401, { detail: 'Invalid token' }])
    for (const by of [client, admin]) {
      const answer = await ask('GET', '/workers', undefined, by)
      assert.deepEqual([answer.status, answer.body], [403, { detail: 'Insufficient role' }])
    }
  })

  test('pool 1.3: an owner’s API key is accepted in place of a token', async (t) => {
    const { ask, owner } = await setup(t)
    const { api_key: key } = (await ask('POST', '/auth/api-keys', { name: 'k' }, owner)).body

    assert.equal((await ask('GET', '/workers', undefined, { 'x-api-key': key })).status, 200)
  })
})

describe('PUT /workers/{id}/key', () => {
  test('pool 2.7: PUT /workers/{id}/key sets and replaces the key of the owner’s worker only', async (t) => {
    const { ask, owner, account, submitJob, poll, submit } = await setup(t)
    const other = await account('other', 'WORKER_OWNER')
    const { id } = (await ask('POST', '/workers/register', { name: 'w' }, owner)).body
    await submitJob()
    const [first, second] = [newKey(), newKey()]
    const worker = { id, by: owner, ...first }
    const assigned = (await poll(worker)).body

    assert.equal((await submit(worker, assigned)).body.detail, 'Worker public key is not configured')
    assert.equal((await ask('PUT', `/workers/${id}/key`, { public_key: second.publicKey }, other)).status, 404)
    assert.equal((await ask('PUT', `/workers/999/key`, { public_key: 'x' }, owner)).body.detail, 'Worker not found')
    assert.equal((await ask('PUT', `/workers/${id}/key`, {}, owner)).status, 422)
    const set = await ask('PUT', `/workers/${id}/key`, { public_key: second.publicKey }, owner)
    assert.deepEqual([set.status, set.body.public_key, Object.keys(set.body)], [200, second.publicKey, KEYS])
    assert.equal((await submit(worker, assigned)).body.detail, 'Signature verification failed')
    await ask('PUT', `/workers/${id}/key`, { public_key: first.publicKey }, owner)
    assert.equal((await submit(worker, assigned)).status, 200)
  })
})
