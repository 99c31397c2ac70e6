import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../support/until.ts'
import { inBothModes, staffed } from './setup.ts'

const TASKS = '/api/v1/captcha/tasks'

const secondsFromNow = (moment: string) => Math.round((Date.parse(moment) - Date.now()) / 1000)
const isAbout = (actual: number, expected: number) => assert(Math.abs(actual - expected) < 30, `${actual}, ${expected}`)

inBothModes(
  'desk 4.1: the operator who assigns a task holds it; another gets 409 with holder and expiry',
  async (t, mode) => {
    const { create, assign, operator, other } = await staffed(t, { mode })
    const { uuid } = await create()

    const taken = await assign(uuid)
    const refused = await assign(uuid, other)
    const seen = await other.get(`${TASKS}/${uuid}`)

    assert.equal(taken.status, 200)
    assert.deepEqual(
      [taken.body.operator_id, taken.body.task.status, taken.body.task.assigned_to],
      ['ann', 'in_progress', 'ann'],
    )
    isAbout(secondsFromNow(taken.body.locked_until), 1800)
    assert.deepEqual(
      [refused.status, refused.body],
      [
        409,
        {
          detail: {
            message: 'Task is locked by another operator',
            assigned_to: operator.username,
            locked_until: taken.body.locked_until,
          },
        },
      ],
    )
    assert.deepEqual([seen.body.assigned_to, seen.body.locked_until], ['ann', taken.body.locked_until])
  },
)

test('desk 4.2: the same operator renews with 200, for the time that is asked for', async (t) => {
  const { create, assign, solve } = await staffed(t)
  const { uuid } = await create()
  await assign(uuid)

  const longer = await assign(uuid, undefined, { lock_duration_seconds: 7200 })
  const shorter = await assign(uuid, undefined, { lock_duration_seconds: 60 })

  isAbout(secondsFromNow(longer.body.locked_until), 7200)
  isAbout(secondsFromNow(shorter.body.locked_until), 60)
  assert.equal((await solve(uuid)).status, 200)
})

test('desk 4.3: another name is 403, a wrong time 422, an unknown task 404, an ended one 409', async (t) => {
  const { create, assign, solve, operator } = await staffed(t)
  const { uuid } = await create()
  const send = (body: object, task = uuid) => operator.post(`${TASKS}/${task}/assign`, body)

  assert.equal((await send({ operator_id: 'bob' })).status, 403)
  assert.equal((await send({})).status, 422)
  for (const lock of [59, 7201, '60', 60.5])
    assert.equal((await send({ operator_id: 'ann', lock_duration_seconds: lock })).status, 422)
  assert.equal((await send({ operator_id: 'ann' }, '00000000-0000-7000-8000-000000000000')).status, 404)
  await solve(uuid)
  const ended = await assign(uuid)
  assert.deepEqual([ended.status, ended.body.detail.message], [409, 'Task is solved'])
})

inBothModes(
  'desk 4.4: when a lock lapses the task is pending again with an event, and anyone may claim it',
  async (t, mode) => {
    const { create, assign, expireLock, listen, operator, other } = await staffed(t, { mode })
    const { uuid } = await create()
    const heard = await listen(operator)
    await assign(uuid)

    await expireLock(uuid)
    const event = await heard.untilType('task_released')
    const { body } = await other.get(`${TASKS}/${uuid}`)
    const taken = await assign(uuid, other)

    assert.deepEqual(
      [event?.payload['uuid'], event?.payload['operator_id'], event?.payload['reason']],
      [uuid, 'ann', 'lapsed'],
    )
    assert.deepEqual([body.status, body.assigned_to, body.locked_until], ['pending', null, null])
    assert.deepEqual([taken.status, taken.body.task.assigned_to], [200, 'bob'])
  },
)

test('desk 4.5: a lapsed lock counts as none before any sweep has seen it, and its event is still sent', async (t) => {
  const { create, assign, expireLock, listen, operator, other } = await staffed(t, { role: 'serve' })
  const heard = await listen(operator)
  const { uuid } = await create()
  await assign(uuid)

  await expireLock(uuid)
  const pending = await operator.get(`${TASKS}/pending`)
  const taken = await assign(uuid, other)
  await heard.untilType('task_assigned', 2)

  assert.deepEqual(
    pending.body.tasks.map((task: { uuid: string; status: string }) => [task.uuid, task.status]),
    [[uuid, 'pending']],
  )
  assert.equal(taken.status, 200)
  assert.deepEqual(heard.types(), ['task_created', 'task_assigned', 'task_released', 'task_assigned'])
})

inBothModes('desk 4.6: a solve after the lock was lost is refused, whoever holds the task now', async (t, mode) => {
  const { create, assign, solve, expireLock, other, admin } = await staffed(t, { mode })
  const [lapsed, taken] = [await create(), await create({ url: 'https://two.example/' })]
  for (const { uuid } of [lapsed, taken]) {
    await assign(uuid)
    await expireLock(uuid)
  }
  const now = await assign(taken.uuid, other)
  const released = await create({ url: 'https://three.example/' })
  await assign(released.uuid)
  await admin.post(`${TASKS}/${released.uuid}/release`)

  const late = await solve(lapsed.uuid)
  const released409 = await solve(released.uuid)
  const byOther = await solve(released.uuid, other)
  const beaten = await solve(taken.uuid)
  const again = await assign(lapsed.uuid)
  const solved = await solve(lapsed.uuid)

  assert.deepEqual([late.status, late.body.detail.assigned_to], [409, null])
  assert.deepEqual(
    [beaten.status, beaten.body.detail.assigned_to, beaten.body.detail.locked_until],
    [409, 'bob', now.body.locked_until],
  )
  assert.deepEqual([again.status, solved.status], [200, 200])
  assert.deepEqual([released409.status, byOther.status], [409, 200])
})

test('desk 4.7: an admin takes a lock away; the former holder is fenced out and the audit trail names both', async (t) => {
  const { create, assign, solve, admin, operator, account, listen } = await staffed(t)
  const both = await account('max', 'ADMIN', 'OPERATOR')
  const heard = await listen(operator)
  const { uuid } = await create()
  await assign(uuid)

  const politely = await assign(uuid, both)
  const byOperator = await assign(uuid, operator, { steal: true })
  const stolen = await assign(uuid, both, { steal: true })
  const late = await solve(uuid)
  const again = await assign(uuid, admin)
  await heard.untilType('task_assigned', 3)
  const { body } = await admin.get(`/api/v1/captcha/audit?uuid=${uuid}&action=stolen`)

  assert.deepEqual(
    [politely.status, byOperator.status, stolen.status, late.status, again.status],
    [409, 403, 200, 409, 200],
  )
  assert.equal(late.body.detail.assigned_to, 'max')
  assert.deepEqual(heard.types().slice(1), [
    'task_assigned',
    'task_released',
    'task_assigned',
    'task_released',
    'task_assigned',
  ])
  assert.deepEqual(
    body.entries.map((line: { actor: string; operator: string }) => [line.actor, line.operator]),
    [
      ['eve', 'max'],
      ['max', 'ann'],
    ],
  )
})

inBothModes('desk 4.8: a released task is pending again; only its holder may release it', async (t, mode) => {
  const { create, assign, operator, other, admin, listen } = await staffed(t, { mode })
  const { uuid } = await create()
  const heard = await listen(operator)
  const release = (by = operator) => by.post(`${TASKS}/${uuid}/release`)

  const unheld = await release()
  await assign(uuid)
  const others = await release(other)
  const mine = await release()
  await assign(uuid)
  const forced = await release(admin)
  await heard.untilType('task_released', 2)

  assert.deepEqual([unheld.status, others.status, mine.status, forced.status], [409, 409, 200, 200])
  assert.equal(others.body.detail.assigned_to, 'ann')
  assert.deepEqual([mine.body.status, mine.body.assigned_to], ['pending', null])
  const reasons = heard.events.filter(({ type }) => type === 'task_released').map(({ payload }) => payload['reason'])
  assert.deepEqual(reasons, ['released', 'stolen'])
})

inBothModes(
  'desk 4.9: PATCH sets solving, pending and failed only, and a failed task can be claimed again',
  async (t, mode) => {
    const { create, assign, solve, operator, other, listen } = await staffed(t, { mode })
    const { uuid } = await create()
    const heard = await listen(operator)
    const say = (status: string, by = operator, more: object = {}) =>
      by.patch(`${TASKS}/${uuid}/status`, { status, ...more })

    const unclaimed = [await say('solving'), await say('failed')].map(({ status }) => status)
    await assign(uuid)
    const solving = await say('solving')
    const byOther = await say('solving', other)
    const failed = await say('failed', operator, { error: 'the page is blank' })
    const reclaimed = await assign(uuid, other)
    const back = await say('pending', other)
    const wrong = [await say('solved'), await say('expired'), await say('unsolvable'), await say('in_progress')]
    await solve(uuid)
    const ended = await say('solving')
    await heard.untilType('task_solved')

    assert.deepEqual(unclaimed, [409, 409])
    assert.deepEqual([solving.status, solving.body.status, byOther.status], [200, 'solving', 409])
    assert.deepEqual(
      [failed.body.status, failed.body.assigned_to, failed.body.last_error],
      ['failed', null, 'the page is blank'],
    )
    assert.deepEqual([reclaimed.status, back.status, back.body.status], [200, 200, 'pending'])
    assert.deepEqual(
      wrong.map(({ status }) => status),
      [422, 422, 422, 422],
    )
    assert.equal(ended.status, 409)
    for (const type of ['task_solving', 'task_failed']) assert(heard.types().includes(type), type)
  },
)

test('desk 4.10: PATCH pending opens a failed task again', async (t) => {
  const { create, assign, operator, other } = await staffed(t)
  const { uuid } = await create()
  await assign(uuid)
  await operator.patch(`${TASKS}/${uuid}/status`, { status: 'failed' })

  const opened = await other.patch(`${TASKS}/${uuid}/status`, { status: 'pending' })
  const same = await other.patch(`${TASKS}/${uuid}/status`, { status: 'pending' })

  assert.deepEqual([opened.body.status, same.status], ['pending', 200])
})

inBothModes('desk 3.9: a task that nobody claims expires; a live lock suspends that', async (t, mode) => {
  const { create, assign, database, listen, operator, scraper, solve } = await staffed(t, { mode })
  const heard = await listen(operator)
  const [waiting, held] = [await create(), await create({ url: 'https://two.example/' })]
  await assign(held.uuid)
  await database.query(`update captcha_task set created_at = created_at - interval '1 day'`)
  const longAgo = `update captcha_task set unclaimed_since = clock_timestamp() - interval '601 seconds' where uuid = $1`

  const ended = scraper.get(`${TASKS}/${waiting.uuid}`, { prefer: 'wait=40' })
  await database.query(longAgo, [waiting.uuid])
  await heard.untilType('task_expired')

  assert.equal((await ended).body.status, 'expired')
  assert.equal((await operator.get(`${TASKS}/${held.uuid}`)).body.status, 'in_progress')
  assert.deepEqual([(await assign(waiting.uuid)).status, (await solve(waiting.uuid)).status], [409, 409])
})

inBothModes('desk 3.10: DELETE /expired expires what is due and counts each expired task once', async (t, mode) => {
  const { create, database, admin, operator } = await staffed(t, { mode })
  const [late] = [await create(), await create({ url: 'https://two.example/' })]
  await database.query(
    `update captcha_task set unclaimed_since = clock_timestamp() - interval '1 hour' where uuid = $1`,
    [late.uuid],
  )

  const first = await admin.delete('/api/v1/captcha/expired')
  const second = await admin.delete('/api/v1/captcha/expired')

  assert.deepEqual(first.body, { expired_count: 1, message: 'Cleanup completed' })
  assert.deepEqual(second.body, { expired_count: 0, message: 'Cleanup completed' })
  assert.equal((await operator.get(`${TASKS}/${late.uuid}`)).body.status, 'expired')
})

inBothModes('desk 3.11: a task that waits or is held for too long is reported once each time', async (t, mode) => {
  const { create, assign, database, listen, operator } = await staffed(t, { mode })
  const heard = await listen(operator)
  const { uuid } = await create()
  await database.query(`update captcha_task set unclaimed_since = clock_timestamp() - interval '121 seconds'`)
  const waited = await heard.untilType('task_overdue')
  await assign(uuid)
  await database.query(`update captcha_task set claimed_at = clock_timestamp() - interval '901 seconds'`)
  const held = await heard.untilType('task_overdue', 2)

  assert.deepEqual([waited?.payload['sla'], held?.payload['sla']], ['claim', 'solve'])
  assert.deepEqual([waited?.payload['uuid'], held?.payload['uuid']], [uuid, uuid])
})

test('desk 3.12: cancelling the job ends the task, and a replay opens it again', async (t) => {
  const { create, admin, operator, assign, solve, scraper, listen } = await staffed(t)
  const heard = await listen(scraper)
  const { uuid, id } = await create()

  await admin.post(`/admin/jobs/${uuid}/cancel`, { reason: 'not needed' })
  const ended = await operator.get(`${TASKS}/${uuid}`)
  await admin.post(`/admin/jobs/${uuid}/replay`)
  const opened = await operator.get(`${TASKS}/${uuid}`)
  await assign(uuid)
  await solve(uuid)
  await until('solved', async () => (await scraper.get(`${TASKS}/${uuid}`)).body.status === 'solved')
  const about = { task_id: String(id), uuid, domain: 'shop.example' }
  const cancelled = await heard.untilType('task_unsolvable')
  const reopened = await heard.untilType('task_released')

  assert.deepEqual(
    [ended.body.status, ended.body.last_error, opened.body.status],
    ['unsolvable', 'not needed', 'pending'],
  )
  assert.deepEqual(cancelled?.payload, { ...about, reason: 'not needed' })
  assert.deepEqual(reopened?.payload, { ...about, operator_id: null, reason: 'reopened' })
})
