// What operators see of their own work, and what supervisors see and do. Spoken through the SDK, as the console does.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { staffed, type Asker } from './setup.ts'

async function withClients(t: TestContext) {
  const world = await staffed(t)
  const deskOf = ({ token }: Asker) => new ReeveClient({ url: world.url, token }).desk
  return { ...world, ann: deskOf(world.operator), bob: deskOf(world.other), eve: deskOf(world.admin) }
}

test('desk 3.15: open tasks are searched, filtered by age, and paged by a stable cursor', async (t) => {
  const { create, ann, solve, operator, database } = await withClients(t)
  const made = []
  for (const [name, priority] of [
    ['a', 5],
    ['b', 9],
    ['c', 5],
    ['d', 1],
  ] as const)
    made.push(await create({ url: `https://${name}.example/cart_${name}`, priority, request_id: `order-${name}` }))
  const names = (tasks: readonly { domain: string }[]) => tasks.map(({ domain }) => domain.slice(0, 1)).join('')
  await database.query(`update captcha_task set created_at = created_at - interval '1 hour' where domain = 'c.example'`)

  const first = await ann.list({ open: true, limit: 2 })
  await create({ url: 'https://e.example/', priority: 10 })
  await solve(made[0].uuid)
  const second = await ann.list({ open: true, limit: 2, after: first.next_after ?? '' })
  const newest = await ann.list({ order: 'newest', limit: 2 })
  const older = await ann.list({ order: 'newest', limit: 5, after: newest.next_after ?? '' })
  const found = await Promise.all(
    ['CART_C', 'order-d', 'cart%', made[1].uuid, 'cart_a'].map(async (q) => names((await ann.list({ q })).tasks)),
  )

  assert.deepEqual([names(first.tasks), first.total, names(second.tasks), second.next_after], ['ba', 4, 'cd', null])
  assert.deepEqual([names(newest.tasks), names(older.tasks)], ['ed', 'cba'])
  assert.deepEqual(found, ['c', 'd', '', 'b', ''])
  assert.equal(names((await ann.list({ open: true, older_than: 1800 })).tasks), 'c')
  for (const query of ['after=x', 'after=5', 'open=perhaps', 'q=', 'older_than=-1'])
    assert.equal((await operator.get(`/api/v1/captcha/tasks?${query}`)).status, 422, query)
})

test('desk 4.11: an admin gives a task to an operator, whoever holds it', async (t) => {
  const { create, assign, solve, ann, bob, eve, operator, other, admin } = await withClients(t)
  const [held, free] = [await create(), await create({ url: 'https://free.example/' })]
  await assign(held.uuid)

  const moved = await eve.reassign(held.uuid, 'bob')
  const given = await eve.reassign(free.uuid, 'bob')
  const late = await solve(held.uuid, operator)
  const solved = await solve(held.uuid, other)
  const refused = await Promise.all([
    admin.post(`/api/v1/captcha/tasks/${free.uuid}/reassign`, { operator_id: 'sid' }),
    admin.post(`/api/v1/captcha/tasks/${free.uuid}/reassign`, { operator_id: 'nobody' }),
    admin.post(`/api/v1/captcha/tasks/${held.uuid}/reassign`, { operator_id: 'ann' }),
    operator.post(`/api/v1/captcha/tasks/${free.uuid}/reassign`, { operator_id: 'ann' }),
  ])

  assert.deepEqual([moved.assigned_to, given.assigned_to, given.status], ['bob', 'bob', 'in_progress'])
  assert.deepEqual([late.status, solved.status], [409, 200])
  assert.deepEqual(
    refused.map(({ status }) => status),
    [422, 422, 409, 403],
  )
  const { entries } = await eve.audit({ uuid: held.uuid })
  assert.deepEqual(
    entries.toReversed().map(({ actor, action, operator: whose }) => `${actor} ${action} ${whose}`),
    ['sid created null', 'ann claimed ann', 'eve stolen ann', 'eve claimed bob', 'bob solved bob'],
  )
  assert.equal((await bob.list({ assigned_to: 'bob', open: true })).total, 1)
  assert.equal((await ann.list({ assigned_to: 'ann' })).total, 0)
})

test('desk 13.3: an operator sees their own trail and figures, an admin those of all', async (t) => {
  const { create, ann, bob, eve, solve, operator, other } = await withClients(t)
  for (const [name, by] of [
    ['one', operator],
    ['two', other],
    ['three', other],
  ] as const)
    await solve((await create({ url: `https://${name}.example/` })).uuid, by)

  const own = await ann.audit({ action: 'solved' })
  const asked = await ann.audit({ action: 'solved', actor: 'bob' })
  const all = await eve.audit({ action: 'solved' })

  assert.deepEqual([own.entries.length, asked.entries.length, all.entries.length], [1, 1, 3])
  assert.deepEqual([own.entries[0]?.domain, asked.entries[0]?.actor], ['one.example', 'ann'])
  assert.deepEqual(
    (await bob.operators(1)).map(({ operator: name, solved }) => [name, solved]),
    [['bob', 2]],
  )
  assert.deepEqual(
    (await eve.operators(1)).map(({ operator: name }) => name),
    ['ann', 'bob'],
  )
})

test('desk 13.4: figures count what is open, what waits for too long, and what came and ended', async (t) => {
  const { create, assign, solve, ann, database } = await withClients(t)
  const [one, two] = [await create(), await create({ url: 'https://two.example/' })]
  await create({ url: 'https://three.example/' })
  await solve(one.uuid)
  await assign(two.uuid)
  await database.query(`update captcha_task set overdue_at = clock_timestamp() where domain = 'three.example'`)

  const { hours, oldest_waiting_at: oldest, ...now } = await ann.figures(2)
  const sum = (name: 'created' | 'solved') => hours.reduce((total, hour) => total + hour[name], 0)

  assert.deepEqual(now, { open: 2, waiting: 1, claimed: 1, overdue: 1 })
  assert.deepEqual([sum('created'), sum('solved')], [3, 1])
  const [task] = (await ann.list({ status: 'pending' })).tasks
  assert.deepEqual([oldest, typeof task?.overdue_at], [task?.created_at, 'string'])
})
