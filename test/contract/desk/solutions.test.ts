import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inBothModes, staffed } from './setup.ts'

const TASKS = '/api/v1/captcha/tasks'
const SESSIONS = '/api/v1/captcha/sessions'

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
const unixIn = (seconds: number) => Math.floor(Date.now() / 1000) + seconds

inBothModes('desk 5.1: cookies become the session of the domain, for the creator only', async (t, mode) => {
  const { create, assign, solve, scraper, operator, account } = await staffed(t, { mode })
  const rival = await account('sue', 'SCRAPER')
  const { uuid } = await create({ user_agent: 'Mozilla/5.0' })
  await assign(uuid)
  const before = await scraper.get(`${SESSIONS}/shop.example`)

  const cookies = [
    {
      name: 'cf_clearance',
      value: 'abc.def',
      domain: '.shop.example',
      path: '/',
      secure: true,
      httpOnly: true,
      sameSite: 'None',
    },
    { name: 'b', value: '2' },
  ]
  const { status, body } = await solve(uuid, operator, { payload: cookies, notes: 'two clicks' })
  const session = await scraper.get(`${SESSIONS}/Shop.Example`)
  const mine = await scraper.get(`${TASKS}/${uuid}`)
  const theirs = await operator.get(`${TASKS}/${uuid}`)

  assert.deepEqual(before.body, {
    domain: 'shop.example',
    has_session: false,
    session: null,
    sessions: [],
    wait_timeout: 900,
  })
  assert.deepEqual(
    [status, body.message, body.session_cached, body.session_ttl],
    [200, 'CAPTCHA solved successfully. Session cached for 900 seconds.', true, 900],
  )
  const { created_at: created, expires_at: expires, ...rest } = session.body.session
  assert.equal(Math.round((Date.parse(expires) - Date.parse(created)) / 1000), 900)
  assert.deepEqual(rest, {
    domain: 'shop.example',
    has_session: true,
    cf_clearance: 'abc.def',
    cookies: [
      {
        name: 'cf_clearance',
        value: 'abc.def',
        domain: '.shop.example',
        path: '/',
        secure: true,
        http_only: true,
        sameSite: 'None',
      },
      { name: 'b', value: '2' },
    ],
    data: null,
    user_agent: 'Mozilla/5.0',
    proxy_url: null,
    task_uuid: uuid,
  })
  assert.deepEqual(
    [mine.body.status, mine.body.solver_result, mine.body.cf_clearance, mine.body.solver_notes],
    ['solved', { type: 'cookie', payload: cookies, user_agent: null }, 'abc.def', 'two clicks'],
  )
  assert.equal(theirs.body.has_solution, true)
  for (const seen of [theirs.body, body, (await operator.get(TASKS)).body, (await scraper.get(TASKS)).body])
    assert(!JSON.stringify(seen).includes('abc.def'))
  assert.deepEqual((await rival.get(`${SESSIONS}/shop.example`)).body.has_session, false)
})

test('desk 5.2: a session lives until the earliest expiry, and at most the maximum', async (t) => {
  const { create, solve, operator, scraper } = await staffed(t)
  const cookie = (expires?: number | string | null) => [
    { name: 'a', value: '1', ...(expires === undefined ? {} : { expires }) },
  ]
  const cases: [() => object, number][] = [
    [() => ({ payload: cookie() }), 900],
    [() => ({ payload: cookie(-1) }), 900],
    [() => ({ payload: cookie(null) }), 900],
    [() => ({ payload: cookie(unixIn(100)) }), 100],
    [() => ({ payload: cookie(inSeconds(200)) }), 200],
    [() => ({ payload: cookie(unixIn(1800)) }), 1800],
    [() => ({ payload: cookie(unixIn(90_000)) }), 3600],
    [() => ({ payload: cookie(), expires_at: inSeconds(300) }), 300],
    [() => ({ payload: cookie(unixIn(100)), expires_at: inSeconds(300) }), 100],
    [() => ({ payload: cookie(), expires_at: inSeconds(90_000) }), 3600],
    [() => ({ type: 'session', payload: { cookies: { a: '1' } } }), 900],
    [() => ({ type: 'session', payload: { cookies: cookie(unixIn(100)) } }), 100],
    [() => ({ payload: [{ name: 'a', value: '1', expires_at: inSeconds(120) }] }), 120],
    [() => ({ payload: cookie(), expires_at: inSeconds(240).replace('Z', '') }), 240],
  ]

  for (const [index, [more, ttl]] of cases.entries()) {
    const { uuid } = await create({ url: `https://s${index}.example/` })
    const began = Date.now()
    const asked = more()
    const { body } = await solve(uuid, operator, asked)
    const { body: found } = await scraper.get(`${SESSIONS}/s${index}.example`)
    const tookSec = (Date.now() - began) / 1000
    const livesSec = (Date.parse(found.session.expires_at) - began) / 1000

    // What is said as a moment is that far away when it is said, and a little less when it arrives; moments are whole seconds.
    const fits = (sec: number) => sec > ttl - tookSec - 2 && sec < ttl + tookSec + 2
    assert(fits(body.session_ttl), `${JSON.stringify(asked)}: ${body.session_ttl}, not ${ttl}`)
    assert(fits(livesSec), `${JSON.stringify(asked)}: lives for ${livesSec} s, not ${ttl}`)
  }
})

test('desk 5.3: a wrong, empty or expired solution is 422 and changes nothing', async (t) => {
  const { create, assign, solve, operator } = await staffed(t)
  const { uuid } = await create()
  await assign(uuid)
  const cookie = { name: 'a', value: '1' }
  const wrong: object[] = [
    { type: 'cookie', payload: [] },
    { type: 'cookie', payload: 'a=1' },
    { type: 'cookie', payload: { a: '1' } },
    { type: 'cookie', payload: [{ name: 'a' }] },
    { type: 'cookie', payload: [{ name: 'a b', value: '1' }] },
    { type: 'cookie', payload: [{ name: 'a', value: 'x\r\ny' }] },
    { type: 'cookie', payload: [{ name: 'a', value: 'x;y' }] },
    { type: 'cookie', payload: [cookie], expires_at: inSeconds(-10) },
    { type: 'cookie', payload: [cookie], expires_at: 'tomorrow' },
    { type: 'cookie', payload: [{ ...cookie, expires: unixIn(-10) }] },
    { type: 'cookie', payload: [cookie], user_agent: 'x\ny' },
    { type: 'token', payload: [cookie] },
    { type: 'token', payload: '' },
    { type: 'token', payload: 'tok', expires_at: inSeconds(-10) },
    { type: 'session', payload: 'text' },
    { type: 'session', payload: [cookie] },
    { type: 'session', payload: {} },
    { type: 'session', payload: { cookies: [] } },
    { type: 'session', payload: { cookies: [{ ...cookie, expires: unixIn(-10) }] } },
    { type: 'cookie', payload: [{ ...cookie, expires_at: inSeconds(-10) }] },
    { type: 'cookie', payload: [{ ...cookie, expires_at: 'soon' }] },
    { type: 'token', payload: { token: '' } },
    { type: 'token', payload: { other: 'x' } },
    {},
    { type: 'answer', payload: { answer: 'x' } },
    { type: 'magic', payload: 'x' },
    { payload: 'x' },
  ]

  for (const body of wrong) {
    const answer = await operator.post(`${TASKS}/${uuid}/solve`, body)
    assert.equal(answer.status, 422, JSON.stringify(body))
  }
  assert.equal((await operator.get(`${TASKS}/${uuid}`)).body.status, 'in_progress')
  assert.equal((await solve(uuid)).status, 200)
})

inBothModes('desk 5.4: a token is on the task only; an object is cached as it is', async (t, mode) => {
  const { create, solve, operator, scraper } = await staffed(t, { mode })
  const [token, session] = [await create(), await create({ url: 'https://two.example/' })]

  const first = await solve(token.uuid, operator, { type: 'token', payload: '03AGdBq2' })
  const data = { cookies: [{ name: 'a', value: '1' }], localStorage: { k: 'v' } }
  const second = await solve(session.uuid, operator, { type: 'session', payload: data, user_agent: 'Agent/2' })
  const found = await scraper.get(`${SESSIONS}/two.example`)

  assert.deepEqual([first.body.session_cached, first.body.session_ttl], [false, null])
  assert.equal((await scraper.get(`${SESSIONS}/shop.example`)).body.has_session, false)
  assert.equal((await scraper.get(`${TASKS}/${token.uuid}`)).body.solver_result.payload, '03AGdBq2')
  assert.equal(second.body.session_cached, true)
  assert.deepEqual(
    [found.body.session.cookies, found.body.session.data, found.body.session.user_agent],
    [[{ name: 'a', value: '1' }], data, 'Agent/2'],
  )
})

inBothModes('desk 5.5: the first solution stays, and a second gets Task already solved', async (t, mode) => {
  const { create, solve, operator, other, scraper } = await staffed(t, { mode })
  const { uuid } = await create()

  const first = await solve(uuid, operator, { type: 'token', payload: 'first' })
  const second = await solve(uuid, other, { type: 'token', payload: 'second' })
  const unsolvable = await other.post(`${TASKS}/${uuid}/mark-unsolvable`, { reason: 'no' })
  const { body } = await scraper.get(`${TASKS}/${uuid}`)

  assert.deepEqual(
    [first.body.message, second.status, second.body.message],
    ['CAPTCHA solved successfully.', 200, 'Task already solved'],
  )
  assert.equal(unsolvable.status, 409)
  assert.deepEqual([body.solver_result.payload, body.assigned_to], ['first', 'ann'])
})

inBothModes('desk 5.6: mark-unsolvable ends an unclaimed or own task for good, with its reason', async (t, mode) => {
  const { create, assign, solve, operator, other, scraper, listen } = await staffed(t, { mode })
  const heard = await listen(operator)
  const [free, held] = [await create(), await create({ url: 'https://two.example/' })]
  await assign(held.uuid)
  const mark = (uuid: string, by = operator, body: object = { reason: 'a blank page' }) =>
    by.post(`${TASKS}/${uuid}/mark-unsolvable`, body)

  const refused = await mark(held.uuid, other)
  const noReason = await mark(free.uuid, operator, {})
  const done = [await mark(free.uuid, other), await mark(held.uuid)]
  const again = await mark(free.uuid)
  const solved = await solve(free.uuid)
  const event = await heard.untilType('task_unsolvable', 2)

  assert.deepEqual([refused.status, refused.body.detail.assigned_to, noReason.status], [409, 'ann', 422])
  for (const { status, body } of done)
    assert.deepEqual(
      [status, body.message, body.task.status],
      [200, 'Task marked unsolvable: a blank page', 'unsolvable'],
    )
  assert.deepEqual([again.status, solved.status], [200, 409])
  assert.equal(event?.payload['reason'], 'a blank page')
  assert.equal((await scraper.get(`${TASKS}/${held.uuid}`)).body.last_error, 'a blank page')
})

inBothModes(
  'desk 6.2: one session for each proxy and user agent, the last solved first; Prefer: wait waits for one',
  async (t, mode) => {
    const proxy = 'http://user:secret@10.0.0.1:3128'
    const { create, solve, scraper, operator } = await staffed(t, { mode, env: { CAPTCHA_PROXIES: proxy } })
    const plain = await create()
    const proxied = await create({ proxy_url: proxy, user_agent: 'Agent/1' })

    const waiting = scraper.get(`${SESSIONS}/shop.example`, { prefer: 'wait=40' })
    await solve(plain.uuid)
    const woken = await waiting
    await solve(proxied.uuid)
    const both = await scraper.get(`${SESSIONS}/shop.example`)
    const shownToOthers = await operator.get(`${TASKS}/${proxied.uuid}`)

    assert.equal(woken.body.session.task_uuid, plain.uuid)
    assert.deepEqual(
      both.body.sessions.map((session: Record<string, unknown>) => [
        session['task_uuid'],
        session['proxy_url'],
        session['user_agent'],
      ]),
      [
        [proxied.uuid, `${proxy}/`, 'Agent/1'],
        [plain.uuid, null, null],
      ],
    )
    assert.equal(shownToOthers.body.proxy_url, 'http://user:***@10.0.0.1:3128/')
    assert.equal((await scraper.get(`${SESSIONS}/not%20a%20domain`)).status, 422)
  },
)

inBothModes('desk 5.9, 6.4: report-bad and DELETE /sessions delete the session and send an event', async (t, mode) => {
  const { create, solve, scraper, account, listen, operator, admin } = await staffed(t, { mode })
  const rival = await account('sue', 'SCRAPER')
  const heard = await listen(operator)
  const [deleted, bad, open] = [
    await create(),
    await create({ url: 'https://two.example/' }),
    await create({ url: 'https://three.example/' }),
  ]
  await solve(deleted.uuid)
  await solve(bad.uuid)

  const byRival = await rival.delete(`${SESSIONS}/shop.example`)
  const byOwner = await scraper.delete(`${SESSIONS}/shop.example`)
  const again = await scraper.delete(`${SESSIONS}/shop.example`)
  const foreign = await rival.post(`${TASKS}/${bad.uuid}/report-bad`)
  const tooEarly = await scraper.post(`${TASKS}/${open.uuid}/report-bad`)
  const reported = await scraper.post(`${TASKS}/${bad.uuid}/report-bad`, { reason: 'still a 403' })
  const twice = await scraper.post(`${TASKS}/${bad.uuid}/report-bad`)
  await heard.untilType('session_expired', 2)
  const numbers = await admin.get('/api/v1/captcha/operators')

  assert.deepEqual([byRival.body.deleted, byOwner.body.deleted, again.body.deleted], [0, 1, 0])
  assert.deepEqual([foreign.status, tooEarly.status], [404, 409])
  assert.deepEqual(
    [reported.body, twice.body.message],
    [{ message: 'Solution reported as bad', session_invalidated: true }, 'Solution already reported as bad'],
  )
  for (const domain of ['shop.example', 'two.example'])
    assert.equal((await scraper.get(`${SESSIONS}/${domain}`)).body.has_session, false)
  assert.equal(numbers.body.operators.find((one: { operator: string }) => one.operator === 'ann').reported_bad, 1)
})

inBothModes(
  'desk 5.10: an admin reveals any solution, an operator their own, and both are audited',
  async (t, mode) => {
    const { create, solve, operator, other, admin, scraper } = await staffed(t, { mode })
    const { uuid } = await create()
    const reveal = (by = operator, body: object = { reason: 'a complaint' }) => by.post(`${TASKS}/${uuid}/reveal`, body)
    const early = await reveal(admin)
    await solve(uuid, operator, { type: 'token', payload: 'tok' })

    const answers = [
      await reveal(),
      await reveal(other),
      await reveal(admin),
      await reveal(scraper),
      await reveal(admin, {}),
    ]
    const { body } = await admin.get(`/api/v1/captcha/audit?action=revealed&uuid=${uuid}`)

    assert.equal(early.status, 409)
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 403, 200, 403, 422],
    )
    assert.deepEqual(answers[2]?.body, { uuid, type: 'token', payload: 'tok', user_agent: null, notes: null })
    assert.deepEqual(
      body.entries.map((line: { actor: string; detail: string }) => [line.actor, line.detail]),
      [
        ['eve', 'a complaint'],
        ['ann', 'a complaint'],
      ],
    )
  },
)

inBothModes('desk 6.3: an expired session is gone, and an event is sent', async (t, mode) => {
  const { create, solve, scraper, database, listen, operator } = await staffed(t, { mode })
  const heard = await listen(operator)
  const { uuid } = await create()
  await solve(uuid)

  await database.query(`update captcha_session set expires_at = clock_timestamp() - interval '1 ms'`)
  const found = await scraper.get(`${SESSIONS}/shop.example`)
  const event = await heard.untilType('session_expired')

  assert.equal(found.body.has_session, false)
  assert.deepEqual(event?.payload, { domain: 'shop.example', reason: 'expired' })
})

test('desk 5.11: solutions, previews and pictures of old tasks are deleted, the task stays', async (t) => {
  const { create, solve, scraper, database } = await staffed(t)
  const { uuid } = await create()
  await solve(uuid)
  const { pruneSolutions } = await import('../../../src/doors/desk/supervision/retention.ts')
  await database.query(`update captcha_task set ended_at = clock_timestamp() - interval '25 hours'`)

  await pruneSolutions({
    database,
    settings: { CAPTCHA_KEEP_HOURS: 24 },
    previews: { delete: async () => {} },
  })
  const { body } = await scraper.get(`${TASKS}/${uuid}`)

  assert.deepEqual([body.status, body.has_solution, body.solver_result], ['solved', false, null])
})
