import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../support/until.ts'
import { answerOf, inBothModes, setup, staffed } from './setup.ts'

const TASKS = '/api/v1/captcha/tasks'

inBothModes('desk 3.1: a new task has all fields and no solution', async (t, mode) => {
  const { scraper } = await staffed(t, { mode })

  const { status, body } = await scraper.post(TASKS, {
    url: 'https://shop.example/cart?x=1',
    challenge_type: 'cloudflare',
    error_message: '403 Just a moment',
    request_id: 'r-1',
    priority: 7,
    user_agent: 'Mozilla/5.0',
    metadata: { run: 3 },
  })

  assert.equal(status, 201)
  const { id, uuid, created_at: created, updated_at: updated, wait_timeout: wait, expires_at: expires, ...rest } = body
  assert.equal(typeof id, 'number')
  assert.match(uuid, /^[0-9a-f-]{36}$/)
  assert.deepEqual([created, wait], [updated, 900])
  assert.equal(Math.round((Date.parse(expires) - Date.parse(created)) / 1000), 600)
  assert.deepEqual(rest, {
    url: 'https://shop.example/cart?x=1',
    domain: 'shop.example',
    status: 'pending',
    challenge_type: 'cloudflare',
    error_message: '403 Just a moment',
    priority: 7,
    assigned_to: null,
    locked_until: null,
    attempts: 0,
    has_solution: false,
    solver_expires_at: null,
    overdue_at: null,
    preview_path: null,
    proxy_url: null,
    user_agent: 'Mozilla/5.0',
    request_id: 'r-1',
    last_error: null,
    metadata: { run: 3 },
    form: null,
    solver_result: null,
    cf_clearance: null,
    cookies_json: null,
    solver_notes: null,
    solver_ip: null,
    solved_at: null,
    scrape_options_json: null,
    callback_url: null,
  })
})

inBothModes('desk 3.2: the same open work of the same creator is the same task', async (t, mode) => {
  const { scraper, account, create, solve } = await staffed(t, { mode })
  const rival = await account('sue', 'SCRAPER')
  const first = await create({ priority: 3 })

  const again = await scraper.post(TASKS, { url: 'https://shop.example/other', priority: 8 })
  const lower = await scraper.post(TASKS, { url: 'https://shop.example/', priority: 1 })
  const otherAgent = await create({ user_agent: 'Another/1.0' })
  const byRival = await rival.post(TASKS, { url: 'https://shop.example/' })
  await solve(first.uuid)
  const afterwards = await create()

  assert.deepEqual([again.status, again.body.uuid, again.body.attempts, again.body.priority], [201, first.uuid, 1, 8])
  assert.deepEqual([lower.body.uuid, lower.body.attempts, lower.body.priority], [first.uuid, 2, 8])
  assert.equal(new Set([first.uuid, otherAgent.uuid, byRival.body.uuid, afterwards.uuid]).size, 4)
})

test('desk 3.2: a hundred creates at the same moment are one task', async (t) => {
  const { scraper } = await staffed(t)

  const answers = await Promise.all(
    Array.from({ length: 100 }, () => scraper.post(TASKS, { url: 'https://shop.example/' })),
  )

  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201])
  assert.equal(new Set(answers.map(({ body }) => body.uuid)).size, 1)
  assert.equal(Math.max(...answers.map(({ body }) => body.attempts)), 99)
})

test('desk 3.3: an Idempotency-Key gives the first answer, and 422 for another body', async (t) => {
  const { scraper } = await staffed(t)
  const send = (body: object, key: string) => scraper.post(TASKS, body, { 'idempotency-key': key })
  const body = { url: 'https://shop.example/', form: { question: 'How many?' } }

  const first = await send(body, 'k1')
  const same = await send(body, 'k1')
  const other = await send({ ...body, priority: 9 }, 'k1')
  const fresh = await send(body, 'k2')
  const shared = await send({ url: 'https://shop.example/' }, 'k3')
  const sharedAgain = await send({ url: 'https://shop.example/' }, 'k3')

  assert.deepEqual([first.status, same.status, other.status, fresh.status], [201, 201, 422, 201])
  assert.equal(same.body.uuid, first.body.uuid)
  assert.notEqual(fresh.body.uuid, first.body.uuid)
  assert.deepEqual([sharedAgain.body.uuid, sharedAgain.body.attempts], [shared.body.uuid, 0])
})

test('desk 2.1: a domain that is not on the list is refused; listed and reserved ones are accepted', async (t) => {
  const { scraper, admin } = await staffed(t)
  const send = async (url: string) => {
    const { status, body } = await scraper.post(TASKS, { url })
    return status === 201 ? body.domain : [status, body]
  }
  const refused = [403, { detail: 'domain_not_authorised' }]

  const before = await send('https://shop.org/')
  await admin.post('/api/v1/captcha/domains', { domain: 'Shop.ORG', reason: 'ours' })
  await admin.post('/api/v1/captcha/domains', { domain: '*.fruit.net', reason: 'ours' })

  assert.deepEqual(before, refused)
  assert.equal(await send('https://shop.org/a'), 'shop.org')
  assert.equal(await send('https://a.b.fruit.net/'), 'a.b.fruit.net')
  for (const url of ['https://www.shop.org/', 'https://shop.org:8443/', 'https://fruit.net/', 'https://xfruit.net/'])
    assert.deepEqual(await send(url), refused, url)
  for (const name of ['example.com', 'www.example.org', 'a.example.net', 'x.test', 'shop.example'])
    assert.equal(await send(`https://${name}/`), name)
  for (const name of ['example.co', 'notexample.com', 'x.localhost', 'test.invalid'])
    assert.deepEqual(await send(`https://${name}/`), refused, name)
})

test('desk 2.2: the domain is the host in lower case and punycode, without default port and trailing dot', async (t) => {
  const { create } = await staffed(t)
  const domains = async (...urls: string[]) => {
    const tasks = []
    for (const url of urls) tasks.push((await create({ url })).domain)
    return tasks
  }

  assert.deepEqual(
    await domains(
      'HTTPS://WWW.Shop.Example/',
      'https://shop.example:443/',
      'http://shop.example:80/',
      'http://shop.example:8080/',
      'https://shop.example./',
      'https://bücher.example/',
    ),
    ['www.shop.example', 'shop.example', 'shop.example', 'shop.example:8080', 'shop.example', 'xn--bcher-kva.example'],
  )
})

test('desk 3.4: a wrong field is a 422 that names it, and changes nothing', async (t) => {
  const { scraper, database } = await staffed(t)
  const url = 'https://shop.example/'
  const wrong: [object, string][] = [
    [{}, 'url'],
    [{ url: 'shop.example' }, 'url'],
    [{ url: 'ftp://shop.example/' }, 'url'],
    [{ url: 'https://user:pass@shop.example/' }, 'url'],
    [{ url: 1 }, 'url'],
    [{ url, priority: 0 }, 'priority'],
    [{ url, priority: 11 }, 'priority'],
    [{ url, priority: '5' }, 'priority'],
    [{ url, priority: 1.5 }, 'priority'],
    [{ url, metadata: [] }, 'metadata'],
    [{ url, metadata: { a: 'x'.repeat(70_000) } }, 'metadata'],
    [{ url, user_agent: 'a\r\nb' }, 'user_agent'],
    [{ url, proxy_url: 'http://1.2.3.4:8080' }, 'proxy_url'],
    [{ url, challenge_type: '' }, 'challenge_type'],
    [{ form: { question: '' } }, 'form'],
    [{ form: { question: 'x', fields: [{ type: 'choice', name: 'a', options: ['one'] }] } }, 'form'],
    [{ form: { question: 'x', fields: [{ type: 'choice', name: 'a', options: ['one', 'one'] }] } }, 'form'],
    [{ form: { question: 'x', fields: [{ type: 'text', name: '__proto__' }] } }, 'form'],
    [{ form: { question: 'x', fields: [{ type: 'image', name: 'a', image: 'bm90IGEgcGljdHVyZQ==' }] } }, 'form'],
  ]

  for (const [body, field] of wrong) {
    const { status, body: said } = await scraper.post(TASKS, body)
    assert.equal(status, 422, JSON.stringify(body).slice(0, 100))
    assert(Array.isArray(said.detail) && JSON.stringify(said.detail).includes(field), JSON.stringify(said))
  }
  assert.deepEqual(await database.query('select from captcha_task'), [])
  assert.deepEqual(await database.query('select from jobs'), [])
})

test('desk 1.1: the role is checked before the body', async (t) => {
  const { url, scraper, operator, admin, account, create } = await staffed(t)
  const player = await account('kim')
  const { uuid } = await create()
  const one = `${TASKS}/${uuid}`
  const requests: [method: 'get' | 'post' | 'patch' | 'delete', path: string, roles: string][] = [
    ['post', TASKS, 'S'],
    ['get', TASKS, 'SOA'],
    ['get', `${TASKS}/pending`, 'SOA'],
    ['get', one, 'SOA'],
    ['post', `${one}/assign`, 'OA'],
    ['post', `${one}/solve`, 'O'],
    ['post', `${one}/mark-unsolvable`, 'O'],
    ['patch', `${one}/status`, 'O'],
    ['post', `${one}/release`, 'OA'],
    ['post', `${one}/report-bad`, 'S'],
    ['post', `${one}/reveal`, 'OA'],
    ['post', `${one}/frame`, 'O'],
    ['get', `${one}/cookies`, 'O'],
    ['get', '/api/v1/captcha/sessions/shop.example', 'S'],
    ['delete', '/api/v1/captcha/sessions/shop.example', 'SA'],
    ['delete', '/api/v1/captcha/expired', 'A'],
    ['get', '/api/v1/captcha/domains', 'SOA'],
    ['post', '/api/v1/captcha/domains', 'A'],
    ['delete', '/api/v1/captcha/domains/shop.org', 'A'],
    ['get', '/api/v1/captcha/audit', 'OA'],
    ['get', '/api/v1/captcha/operators', 'OA'],
    ['get', '/api/v1/captcha/figures', 'OA'],
    ['post', `${one}/reassign`, 'A'],
  ]

  for (const [method, path, roles] of requests) {
    const answer = await answerOf(await fetch(url + path, { method: method.toUpperCase() }))
    assert.deepEqual([answer.status, answer.body], [401, { detail: 'Invalid token' }], path)
    for (const [letter, who] of [
      ['S', scraper],
      ['O', operator],
      ['A', admin],
      ['-', player],
    ] as const) {
      const { status } = await who[method](path, {})
      assert.equal(status === 403, !roles.includes(letter), `${who.username} ${method} ${path} ${status}`)
    }
  }
})

inBothModes('desk 3.5: lists have pages, filters and counts; a program sees its own tasks', async (t, mode) => {
  const { scraper, operator, account, create, assign } = await staffed(t, { mode })
  const rival = await account('sue', 'SCRAPER')
  const tasks = []
  for (const n of [1, 2, 3]) tasks.push(await create({ url: `https://s${n}.example/`, priority: n }))
  await rival.post(TASKS, { url: 'https://s1.example/' })
  await assign(tasks[1].uuid)

  const all = await operator.get(`${TASKS}?limit=3`)
  const rest = await operator.get(`${TASKS}?limit=3&page=2`)
  const own = await scraper.get(TASKS)
  const held = await operator.get(`${TASKS}?status=in_progress&assigned_to=ann`)
  const ofDomain = await operator.get(`${TASKS}?domain=https://S1.example/x`)
  const pending = await operator.get(`${TASKS}/pending`)

  assert.deepEqual([all.body.total, all.body.page, all.body.limit, all.body.has_more], [4, 1, 3, true])
  assert.deepEqual([rest.body.tasks.length, rest.body.has_more], [1, false])
  assert.deepEqual([own.body.total, own.body.limit], [3, 20])
  assert.deepEqual(
    held.body.tasks.map((task: { uuid: string }) => task.uuid),
    [tasks[1].uuid],
  )
  assert.equal(ofDomain.body.total, 2)
  assert.deepEqual(
    pending.body.tasks.map((task: { priority: number }) => task.priority),
    [5, 3, 1],
  )
  assert.equal((await operator.get(`${TASKS}?limit=101`)).status, 422)
  assert.equal((await operator.get(`${TASKS}?page=0`)).status, 422)
  assert.equal((await operator.get(`${TASKS}?status=nothing`)).status, 422)
})

test('desk 3.6: a task of another program and an unknown task are 404', async (t) => {
  const { operator, account, create } = await staffed(t)
  const rival = await account('sue', 'SCRAPER')
  const { uuid } = await create()

  for (const path of [uuid, '00000000-0000-7000-8000-000000000000', 'nonsense', '%F0%9F%8D%95']) {
    assert.deepEqual((await rival.get(`${TASKS}/${path}`)).body, { detail: 'Task not found' })
  }
  assert.equal((await operator.get(`${TASKS}/${uuid}`)).status, 200)
})

inBothModes('desk 3.7: Prefer: wait answers at the end of the task', async (t, mode) => {
  const { scraper, create, solve, operator } = await staffed(t, { mode })
  const { uuid } = await create()
  const other = await create({ url: 'https://other.example/' })
  const wait = (task: string) => scraper.get(`${TASKS}/${task}`, { prefer: 'wait=40' })

  const waiting = [wait(uuid), wait(uuid), wait(other.uuid)]
  await solve(uuid)
  await operator.post(`${TASKS}/${other.uuid}/mark-unsolvable`, { reason: 'a blank page' })
  const [first, second, third] = await Promise.all(waiting)
  const late = await wait(uuid)

  for (const answer of [first, second, late]) {
    assert.equal(answer?.body.status, 'solved')
    assert.deepEqual(answer?.body.solver_result.payload, [{ name: 'a', value: '1' }])
  }
  assert.deepEqual([third?.body.status, third?.body.last_error], ['unsolvable', 'a blank page'])
})

test('desk 1.2: with CAPTCHA_AUTH=off everyone may do everything, operator_id is believed, and the start warns', async (t) => {
  const lines: string[] = []
  const { url } = await setup(t, { env: { CAPTCHA_AUTH: 'off' }, lines })
  const ask = async (method: string, path: string, body?: object) =>
    answerOf(
      await fetch(url + path, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      }),
    )

  const { body: task } = await ask('POST', TASKS, { url: 'https://shop.example/' })
  const assigned = await ask('POST', `${TASKS}/${task.uuid}/assign`, { operator_id: 'ann' })
  const refused = await ask('POST', `${TASKS}/${task.uuid}/assign`, { operator_id: 'bob' })
  const solved = await ask('POST', `${TASKS}/${task.uuid}/solve`, { type: 'token', payload: 'tok' })
  const read = await ask('GET', `${TASKS}/${task.uuid}`)

  assert.deepEqual([assigned.status, refused.status, solved.status], [200, 409, 200])
  assert.deepEqual([read.body.assigned_to, read.body.solver_result.payload], ['ann', 'tok'])
  assert(lines.some((line) => line.includes('CAPTCHA_AUTH is off')))
})

test('desk 1.3: with CAPTCHA_AUTH=off a token sees no less than no token, and rates are per address', async (t) => {
  const { url, account } = await setup(t, { env: { CAPTCHA_AUTH: 'off', CAPTCHA_OPERATOR_RATE_LIMIT: '3' } })
  const player = await account('kim')
  const anonymous = async (path: string, body?: object) => {
    const post = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    return answerOf(await fetch(url + path, body === undefined ? {} : post))
  }
  const { body: task } = await anonymous(TASKS, { url: 'https://shop.example/' })
  await anonymous(`${TASKS}/${task.uuid}/solve`, { payload: [{ name: 'a', value: '1' }] })

  const read = await player.get(`${TASKS}/${task.uuid}`)
  const session = await player.get('/api/v1/captcha/sessions/shop.example')
  const trail = await player.get('/api/v1/captcha/audit')
  const assigned = await player.post(`${TASKS}/${task.uuid}/assign`, { operator_id: 'kim' })
  const byToken = await player.post(`${TASKS}/${task.uuid}/assign`, { operator_id: 'kim' })
  const tooMany = await anonymous(`${TASKS}/${task.uuid}/assign`, { operator_id: 'ann' })

  assert.deepEqual([read.status, read.body.solver_result.type, trail.status], [200, 'cookie', 200])
  assert.equal(session.body.has_session, true)
  assert.deepEqual([assigned.status, byToken.status, tooMany.status], [409, 409, 429])
})

test('desk 1.5: an account has a quota of open tasks; the same open work again is not refused', async (t) => {
  const { scraper, create, solve, account } = await staffed(t, { env: { QUOTA_OPEN_TASKS: '2' } })
  const rival = await account('sue', 'SCRAPER')
  const first = await create({ url: 'https://one.example/' })
  await create({ url: 'https://two.example/' })

  const refused = await scraper.post(TASKS, { url: 'https://three.example/' })
  const again = await create({ url: 'https://one.example/' })
  const theirs = await rival.post(TASKS, { url: 'https://three.example/' })
  await solve(first.uuid)
  await until('there is room again', async () => {
    return (await scraper.post(TASKS, { url: 'https://three.example/' })).status === 201
  })

  assert.deepEqual([refused.status, theirs.status], [429, 201])
  assert.match(refused.body.detail, /at most 2 open tasks/)
  assert.equal(again.uuid, first.uuid)
})

test('desk 1.6: tasks and sessions are not to be cached', async (t) => {
  const { scraper, create } = await staffed(t)
  const { uuid } = await create()

  for (const path of [
    TASKS,
    `${TASKS}/${uuid}`,
    '/api/v1/captcha/sessions/shop.example',
    '/api/v1/captcha/callbacks/secret',
  ])
    assert.equal((await scraper.get(path)).headers.get('cache-control'), 'no-store', path)
})

test('desk 1.4: an operator and a domain have a rate limit each', async (t) => {
  const env = { CAPTCHA_OPERATOR_RATE_LIMIT: '2', CAPTCHA_DOMAIN_RATE_LIMIT: '3' }
  const { scraper, operator, other, create, assign } = await staffed(t, { env })
  const { uuid } = await create()

  const byAnn = [await assign(uuid), await assign(uuid), await assign(uuid)].map(({ status }) => status)
  const byBob = (await assign(uuid, other)).status
  const third = [
    await scraper.post(TASKS, { url: 'https://shop.example/' }),
    await scraper.post(TASKS, { url: 'https://shop.example/' }),
  ]
  const fourth = await scraper.post(TASKS, { url: 'https://shop.example/' })
  const elsewhere = await scraper.post(TASKS, { url: 'https://other.example/' })

  assert.deepEqual([...byAnn, byBob], [200, 200, 429, 409])
  assert.deepEqual([...third.map(({ status }) => status), fourth.status, elsewhere.status], [201, 201, 429, 201])
  assert.match(fourth.headers.get('retry-after') ?? '', /^\d+$/)
  assert.equal((await operator.get(TASKS)).status, 200)
})
