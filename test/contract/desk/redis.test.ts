// With Redis the contract's keys, channel and times to live are there too. They are a picture: whatever becomes of Redis,
// nothing is lost.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { Redis } from 'ioredis'
import { atEnd } from '../../support/cleanup.ts'
import { REEVE, ROOT } from '../../support/program.ts'
import { startRedis, temporaryFolder } from '../../support/servers.ts'
import { until } from '../../support/until.ts'
import { staffed, urlOf } from './setup.ts'

const TASKS = '/api/v1/captcha/tasks'
const PLAIN = { CAPTCHA_REDIS_PREFIX: '' }

async function withRedis(t: TestContext) {
  const server = await startRedis()
  atEnd(t, () => server.stop())
  const redis = new Redis(server.at)
  redis.on('error', () => {})
  atEnd(t, () => redis.disconnect())
  const desk = await staffed(t, { env: { REDIS_URL: server.at, ...PLAIN } })
  return { ...desk, redis, server }
}

test('desk 10.1: session, lock, queue and events have their names and times to live in Redis', async (t) => {
  const { redis, server, create, assign, solve, operator } = await withRedis(t)
  const subscriber = new Redis(server.at)
  atEnd(t, () => subscriber.disconnect())
  const heard: { type: string; timestamp: string; payload: Record<string, unknown> }[] = []
  subscriber.on('message', (channel, message) => {
    assert.equal(channel, 'captcha:events')
    heard.push(JSON.parse(message))
  })
  await subscriber.subscribe('captcha:events')

  const low = await create({ url: 'https://low.example/', priority: 2 })
  const task = await create({ priority: 9 })
  await until('both wait', async () => (await redis.zcard('captcha:queue:pending')) === 2)
  const queue = await redis.zrange('captcha:queue:pending', 0, '-1')
  await assign(task.uuid, operator, { lock_duration_seconds: 600 })
  await until('the lock is there', async () => (await redis.exists(`captcha:task:${task.id}:lock`)) === 1)
  const [holder, lockTtl, left] = await Promise.all([
    redis.get(`captcha:task:${task.id}:lock`),
    redis.ttl(`captcha:task:${task.id}:lock`),
    redis.zrange('captcha:queue:pending', 0, '-1'),
  ])
  await solve(task.uuid, operator, { payload: [{ name: 'cf_clearance', value: 'a-secret-cookie' }] })
  await until('the session is there', async () => (await redis.exists('captcha:session:shop.example')) === 1)
  const sessionTtl = await redis.ttl('captcha:session:shop.example')
  const value = (await redis.get('captcha:session:shop.example')) ?? ''
  await until('all was told', () => heard.some(({ type }) => type === 'session_cached'))

  assert.deepEqual(queue, [task.uuid, low.uuid])
  assert.deepEqual([holder, left], ['ann', [low.uuid]])
  assert(lockTtl > 560 && lockTtl <= 600, `${lockTtl}`)
  assert(sessionTtl > 860 && sessionTtl <= 900, `${sessionTtl}`)
  assert(!value.includes('a-secret-cookie') && JSON.parse(value).sealed.startsWith('v1.'), value)
  assert.equal(await redis.exists(`captcha:task:${task.id}:lock`), 0)
  assert.deepEqual(
    heard.map(({ type }) => type),
    ['task_created', 'task_created', 'task_assigned', 'task_solved', 'session_cached'],
  )
  assert.deepEqual(heard[3]?.payload, {
    task_id: String(task.id),
    uuid: task.uuid,
    domain: 'shop.example',
    has_session: true,
    session_ttl: 900,
  })
  assert.match(heard[3]?.timestamp ?? '', /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
})

test('desk 10.2: a deleted session and a released lock leave Redis', async (t) => {
  const { redis, create, assign, solve, operator, scraper } = await withRedis(t)
  const [task, other] = [await create(), await create({ url: 'https://two.example/' })]
  await assign(task.uuid)
  await operator.post(`${TASKS}/${task.uuid}/release`)
  await solve(other.uuid)

  await scraper.delete('/api/v1/captcha/sessions/two.example')

  await until('the lock is gone', async () => (await redis.exists(`captcha:task:${task.id}:lock`)) === 0)
  await until('it waits again', async () => (await redis.zscore('captcha:queue:pending', task.uuid)) !== null)
  await until('the session is gone', async () => (await redis.exists('captcha:session:two.example')) === 0)
})

test('desk 10.3: a cancel and a replay reach Redis, through the API and a command', async (t) => {
  const { redis, server, create, assign, admin, operator, listen, at, dataDir } = await withRedis(t)
  const subscriber = new Redis(server.at)
  atEnd(t, () => subscriber.disconnect())
  const heard: { type: string; payload: Record<string, unknown> }[] = []
  subscriber.on('message', (_channel, message) => heard.push(JSON.parse(message)))
  await subscriber.subscribe('captcha:events')
  const socket = await listen(operator)
  const { uuid, id } = await create()
  const waits = async () => (await redis.zscore('captcha:queue:pending', uuid)) !== null
  const isLocked = async () => (await redis.exists(`captcha:task:${id}:lock`)) === 1
  const untilHeard = (type: string, count: number) =>
    until(`${count} × ${type}`, () => heard.filter((event) => event.type === type).length === count)
  await assign(uuid)
  await until('the lock is there', isLocked)

  await admin.post(`/admin/jobs/${uuid}/cancel`, { reason: 'not needed' })
  await untilHeard('task_unsolvable', 1)
  await until('the lock is gone', async () => !(await isLocked()))
  const { body } = await admin.post(`/admin/jobs/${uuid}/replay`)
  await untilHeard('task_released', 1)
  await until('it waits', waits)
  await admin.post(`/admin/jobs/${body.job_id}/cancel`, {})
  await until('it waits no more', async () => !(await waits()))
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, DATABASE_URL: urlOf(at), REEVE_DATA_DIR: dataDir, REDIS_URL: server.at }
  const command = spawn(process.execPath, [...REEVE, 'job', 'replay', body.job_id], { cwd: ROOT, env })
  const [code] = await once(command, 'exit')
  await untilHeard('task_released', 2)
  await until('it waits again', waits)

  assert.equal(code, 0)
  const told = ['task_created', 'task_assigned', 'task_unsolvable', 'task_released', 'task_unsolvable', 'task_released']
  assert.deepEqual(
    heard.map(({ type }) => type),
    told,
  )
  await socket.untilType('task_released', 2)
  assert.deepEqual(socket.types(), told)
  assert.deepEqual(
    heard.map(({ payload }) => payload),
    socket.events.map(({ payload }) => payload),
  )
})

test('desk 10.4: when Redis is killed and emptied nothing is lost, and its keys are written again', async (t) => {
  const dir = await temporaryFolder(t)
  const server = await startRedis({ dir })
  const port = Number(new URL(server.at).port)
  let running = server
  atEnd(t, () => running.stop())
  const { create, assign, solve, scraper, operator, listen } = await staffed(t, {
    env: { REDIS_URL: server.at, ...PLAIN },
  })
  const [before, held, open] = [
    await create(),
    await create({ url: 'https://held.example/' }),
    await create({ url: 'https://open.example/' }),
  ]
  await solve(before.uuid)
  await assign(held.uuid)

  await running.stop() // SIGKILL, and nothing was saved
  const during = await create({ url: 'https://during.example/' })
  const claimed = await assign(during.uuid)
  const waiting = scraper.get(`${TASKS}/${held.uuid}`, { prefer: 'wait=40' })
  const solved = await solve(held.uuid)
  const woken = await waiting
  const heard = await listen(operator, '/ws/captcha?since=0')
  await heard.untilType('task_solved', 2)
  running = await startRedis({ port, dir })
  const redis = new Redis(server.at)
  atEnd(t, () => redis.disconnect())
  await until('the sessions are painted again', async () => (await redis.keys('captcha:session:*')).length === 2)

  assert.deepEqual([claimed.status, solved.status, woken.body.status], [200, 200, 'solved'])
  assert.deepEqual((await redis.keys('captcha:session:*')).sort(), [
    'captcha:session:held.example',
    'captcha:session:shop.example',
  ])
  assert.deepEqual(await redis.zrange('captcha:queue:pending', 0, '-1'), [open.uuid])
  assert.equal(await redis.get(`captcha:task:${during.id}:lock`), 'ann')
  assert.equal((await scraper.get('/api/v1/captcha/sessions/shop.example')).body.has_session, true)
})
