// A client of the original captcha resolver: what it reads in each answer, and what it sends.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { staffed } from '../../contract/desk/setup.ts'

const API = '/api/v1/captcha'
const TASKS = `${API}/tasks`

test('desk 6.1: a program reads cf_clearance, has_session and the list of cookies from the session', async (t) => {
  const { create, solve, operator, scraper } = await staffed(t)
  const { uuid } = await create()
  const none = await scraper.get(`${API}/sessions/shop.example`)

  await solve(uuid, operator, {
    payload: [{ name: 'cf_clearance', value: 'abc', http_only: true, expires_at: '2999-01-01T00:00:00' }],
    user_agent: 'Agent/1',
  })
  const { body } = await scraper.get(`${API}/sessions/shop.example`)

  assert.deepEqual([none.body.domain, none.body.has_session, none.body.session], ['shop.example', false, null])
  assert.deepEqual([body.domain, body.has_session, body.session.has_session], ['shop.example', true, true])
  assert.deepEqual([body.session.cf_clearance, body.session.user_agent], ['abc', 'Agent/1'])
  assert.deepEqual(body.session.cookies, [
    { name: 'cf_clearance', value: 'abc', http_only: true, expires_at: '2999-01-01T00:00:00.000Z' },
  ])
  assert.deepEqual(
    ['domain', 'proxy_url', 'expires_at', 'created_at'].filter((name) => !(name in body.session)),
    [],
  )
})

test('desk 3.1: every field of a task is present, and the solution only for its creator', async (t) => {
  const { create, solve, operator, scraper } = await staffed(t)
  const created = await create({ scrape_options_json: { render: true }, request_id: 'r-1' })
  await solve(created.uuid, operator, { payload: [{ name: 'cf_clearance', value: 'abc' }], notes: 'done' })

  const mine = (await scraper.get(`${TASKS}/${created.uuid}`)).body
  const theirs = (await operator.get(`${TASKS}/${created.uuid}`)).body
  const [listed] = (await operator.get(TASKS)).body.tasks

  const ofSingle = (
    'solver_result solver_expires_at cf_clearance user_agent cookies_json solved_at solver_ip solver_notes request_id ' +
    'scrape_options_json proxy_url metadata last_error'
  ).split(' ')
  const ofAll =
    'id uuid url domain status priority assigned_to challenge_type error_message preview_path attempts created_at updated_at expires_at has_solution'.split(
      ' ',
    )
  for (const view of [created, mine, theirs])
    assert.deepEqual(
      [...ofAll, ...ofSingle].filter((name) => !(name in view)),
      [],
      view.status,
    )
  assert.deepEqual(
    ofAll.filter((name) => !(name in listed)),
    [],
  )
  assert.deepEqual(mine.scrape_options_json, { render: true })
  assert.deepEqual([mine.cf_clearance, mine.solver_notes, mine.cookies_json[0].value], ['abc', 'done', 'abc'])
  assert.equal(typeof mine.solved_at, 'string')
  assert.equal(mine.solver_ip, '127.0.0.1')
  assert.deepEqual(
    [theirs.cf_clearance, theirs.solver_result, theirs.cookies_json, theirs.solver_notes, theirs.solver_ip],
    [null, null, null, null, null],
  )
})

test('desk 5.8: assign, solve, mark-unsolvable and clean-up answer with success and a message', async (t) => {
  const { create, assign, solve, operator, admin } = await staffed(t)
  const [one, two] = [await create(), await create({ url: 'https://two.example/' })]

  const assigned = (await assign(one.uuid)).body
  const solved = (await solve(one.uuid)).body
  const again = (await solve(one.uuid)).body
  const marked = (await operator.post(`${TASKS}/${two.uuid}/mark-unsolvable`, { reason: 'a blank page' })).body
  const cleaned = (await admin.delete(`${API}/expired`)).body

  assert.deepEqual([assigned.success, assigned.task.uuid], [true, one.uuid])
  assert.equal(assigned.lock_expires_at, assigned.locked_until)
  assert.equal(typeof assigned.message, 'string')
  assert.deepEqual(
    [solved.success, solved.message, solved.session_cached, solved.session_ttl],
    [true, 'CAPTCHA solved successfully. Session cached for 900 seconds.', true, 900],
  )
  assert.deepEqual([again.success, again.message, again.task.uuid], [true, 'Task already solved', one.uuid])
  assert('session_cached' in again && 'session_ttl' in again)
  assert.deepEqual([marked.success, marked.session_cached, marked.session_ttl], [true, false, null])
  assert(marked.message.includes('a blank page'))
  assert.equal(cleaned.message, 'Cleanup completed')
})

test('desk 5.7: solutions are taken as older clients send them', async (t) => {
  const { create, operator, scraper } = await staffed(t)
  const solveAs = async (name: string, body: object) => {
    const { uuid } = await create({ url: `https://${name}.example/` })
    const answer = await operator.post(`${TASKS}/${uuid}/solve`, body)
    assert.equal(answer.status, 200, `${name}: ${JSON.stringify(answer.body)}`)
    return (await scraper.get(`${TASKS}/${uuid}`)).body
  }

  const untyped = await solveAs('untyped', { payload: [{ name: 'a', value: '1' }] })
  const token = await solveAs('token', { type: 'token', payload: { token: '03AG' } })
  const clearance = await solveAs('clearance', { type: 'cookie', cf_clearance: 'abc' })
  const legacy = await solveAs('legacy', { cookies_json: { a: '1', cf_clearance: 'xyz' }, user_agent: 'Agent/1' })

  assert.equal(untyped.solver_result.type, 'cookie')
  assert.equal(token.solver_result.payload, '03AG')
  assert.equal(clearance.cf_clearance, 'abc')
  assert.deepEqual([legacy.cf_clearance, legacy.cookies_json.length, legacy.user_agent], ['xyz', 2, 'Agent/1'])
})

test('desk 3.5: tasks are listed by priority, then age; a bad value is 422, an unknown parameter is ignored', async (t) => {
  const { create, operator } = await staffed(t)
  for (const [name, priority] of [
    ['low', 1],
    ['old', 8],
    ['new', 8],
    ['top', 10],
  ] as const)
    await create({ url: `https://${name}.example/`, priority })
  const names = async (query: string) =>
    (await operator.get(`${TASKS}${query}`)).body.tasks.map(({ domain }: { domain: string }) => domain.split('.')[0])

  assert.deepEqual(await names(''), ['top', 'old', 'new', 'low'])
  assert.deepEqual(await names('?min_priority=8'), ['top', 'old', 'new'])
  assert.deepEqual(await names('/pending?min_priority=9&made_up=1'), ['top'])
  for (const query of [
    'min_priority=high',
    'min_priority=11',
    'status=open',
    'page=0',
    'domain=no%20domain',
    'limit=x',
  ])
    assert.equal((await operator.get(`${TASKS}?${query}`)).status, 422, query)
})

test('desk 3.2: a repeated create keeps the error message and sets the last error', async (t) => {
  const { create } = await staffed(t)
  await create({ error_message: 'first' })

  const again = await create({ error_message: 'second' })

  assert.deepEqual([again.error_message, again.last_error, again.attempts], ['first', 'second', 1])
})
