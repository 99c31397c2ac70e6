// Nothing that anybody sends makes the desk fail: every route, as everyone, with nonsense of every shape.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { staffed, type Asker } from './setup.ts'
import { cases } from '../../support/size.ts'

const TASKS = '/api/v1/captcha/tasks'

const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(
      null,
      true,
      0,
      -1,
      1e300,
      2 ** 53,
      '',
      '\0',
      '\ud800',
      '__proto__',
      'x'.repeat(5000),
      'https://shop.example/',
      '{}',
      "'; drop table jobs; --",
    ),
    fc.string(),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(
      fc.constantFrom(
        'url',
        'type',
        'payload',
        'name',
        'value',
        'expires',
        'status',
        'reason',
        'operator_id',
        'lock_duration_seconds',
        'steal',
        'form',
        'question',
        'fields',
        'options',
        'metadata',
        'priority',
        'expires_at',
        'task',
        'taskId',
        'clientKey',
        'domain',
        'proxy_url',
        'user_agent',
      ),
      tie('any'),
      { maxKeys: 6 },
    ),
  ),
})).any

test('desk 1.7: no request is answered with 5xx, and the desk still works afterwards', async (t) => {
  const { url, scraper, operator, admin, create, assign, solve } = await staffed(t)
  const { uuid } = await create()
  const paths = [
    ...[
      '',
      '/assign',
      '/solve',
      '/mark-unsolvable',
      '/release',
      '/report-bad',
      '/reveal',
      '/frame',
      '/preview',
      '/status',
      '/cookies',
    ].map((end) => `${TASKS}/${uuid}${end}`),
    TASKS,
    '/api/v1/captcha/domains',
    '/createTask',
    '/getTaskResult',
    '/reportIncorrect',
    '/internal/solver-frame/x',
    '/api/v1/captcha/proxy/render/x?t=a.b',
    '/api/v1/captcha/nothing',
  ]
  const queries = [
    'page=-1',
    'page=9'.repeat(30),
    'limit=x',
    'status=%F0%9F',
    'domain=%00',
    'domain=' + 'a'.repeat(3000),
    'since=x',
    'uuid=x',
    'before=0',
    'hours=1e9',
    'action=x',
  ]

  const send = async (by: Asker, method: string, path: string, body: unknown, type: string) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${by.token}`, 'content-type': type },
      ...(method === 'GET' || method === 'DELETE'
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      redirect: 'manual',
    })
    await response.arrayBuffer()
    return response.status
  }

  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(scraper, operator, admin),
      fc.constantFrom('POST', 'PATCH', 'PUT'),
      fc.constantFrom(...paths),
      value,
      fc.constantFrom('application/json', 'application/json', 'application/json', 'text/plain', 'image/png', ''),
      async (by, method, path, body, type) => {
        const status = await send(by, method, path, body, type)
        assert(status < 500, `${status} ${method} ${path} ${JSON.stringify(body)?.slice(0, 300)}`)
      },
    ),
    { numRuns: cases(600) },
  )
  for (const by of [scraper, operator, admin]) {
    for (const path of [
      TASKS,
      `${TASKS}/pending`,
      '/api/v1/captcha/audit',
      '/api/v1/captcha/operators',
      '/ws/captcha',
      '/api/v1/captcha/sessions/x',
    ]) {
      for (const query of queries)
        assert((await send(by, 'GET', `${path}?${query}`, '', 'x')) < 500, `${path}?${query}`)
    }
    for (const part of ['%00', '%ff', '..%2f..', 'a'.repeat(600), '[::1', '%5B::1%5D', '*', '🍕'].map(encodeURI)) {
      for (const path of [
        `${TASKS}/${part}`,
        `/api/v1/captcha/sessions/${part}`,
        `/ws/captcha/${part}`,
        `/internal/solver-frame/${part}/https/${part}/x`,
      ])
        assert((await send(by, 'GET', path, '', 'x')) < 500, path)
      assert((await send(by, 'DELETE', `/api/v1/captcha/domains/${part}`, '', 'x')) < 500, part)
    }
  }
  const again = await create({ url: 'https://again.example/' })
  assert.deepEqual([(await assign(again.uuid)).status, (await solve(again.uuid)).status], [200, 200])
  assert.equal((await fetch(`${url}/docs/json`)).status, 200)
})

test('desk 1.7: parameters that a list does not know are ignored, whatever their value', async (t) => {
  const { operator } = await staffed(t)

  const { status } = await operator.get(`${TASKS}/pending?after=1e309&order=none&older_than=x&q=a&q=b&status=done`)

  assert.equal(status, 200)
})
