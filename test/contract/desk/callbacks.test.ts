import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { isSignedWith, parseAuthorization } from '@reeve/sdk/challenge'
import { until } from '../../support/until.ts'
import { staffed } from './setup.ts'
import { startSite } from './site.ts'

const TASKS = '/api/v1/captcha/tasks'

async function setup(t: TestContext) {
  const desk = await staffed(t, { env: { ALLOW_INSECURE_CALLBACKS: 'true' } })
  const site = await startSite(t, (_request, response) => response.end('thanks'))
  return { ...desk, site, callback: { callback_url: `http://127.0.0.1:${site.port}/ended` } }
}

test('desk 3.13: the callback reports how a task ended, signed with the secret of its creator and without the solution', async (t) => {
  const { create, solve, operator, scraper, admin, site, callback } = await setup(t)
  const solved = await create(callback)
  const given = await create({ ...callback, url: 'https://two.example/' })
  const cancelled = await create({ ...callback, url: 'https://three.example/' })
  await create({ url: 'https://quiet.example/' })
  const { body: key } = await scraper.get('/api/v1/captcha/callbacks/secret')

  await solve(solved.uuid, operator, { payload: [{ name: 'a', value: 'hidden' }] })
  await operator.post(`${TASKS}/${given.uuid}/mark-unsolvable`, { reason: 'a blank page' })
  await admin.post(`/admin/jobs/${cancelled.uuid}/cancel`, { reason: 'no longer wanted' })
  await until(
    'three callbacks',
    () => site.requests.length >= 3,
    () => site.requests.map(({ body }) => body),
  )

  const told = new Map(site.requests.map((request) => [JSON.parse(request.body).payload.uuid, request]))
  const typeOf = (uuid: string) => JSON.parse(told.get(uuid)?.body ?? '{}').type
  assert.deepEqual(
    [typeOf(solved.uuid), typeOf(given.uuid), typeOf(cancelled.uuid)],
    ['task_solved', 'task_unsolvable', 'task_unsolvable'],
  )
  assert.equal(site.requests.length, 3)
  for (const { headers, body, url } of site.requests) {
    const fields = parseAuthorization(headers.authorization ?? '')
    assert(fields !== null)
    assert.equal(fields.keyId, key.key_id)
    assert(
      isSignedWith(key.secret, fields.sig, { method: 'POST', path: url, ts: fields.ts, nonce: fields.nonce, body }),
    )
    assert(!body.includes('hidden'))
  }
  assert.equal((await scraper.get(`${TASKS}/${solved.uuid}`)).body.callback_url, callback.callback_url)
  assert.equal((await operator.get(`${TASKS}/${solved.uuid}`)).body.callback_url, null)
})

test('desk 3.14: a callback_url that may not be called is 422', async (t) => {
  const { scraper } = await staffed(t)

  for (const url of ['http://example.org/', 'ftp://example.org/', 'https://user:secret@example.org/', 'nowhere']) {
    const { status } = await scraper.post(TASKS, { url: 'https://shop.example/', callback_url: url })
    assert.equal(status, 422, url)
  }
})
