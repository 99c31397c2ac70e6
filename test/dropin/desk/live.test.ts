// What a client of the original captcha resolver hears on its socket and reads in Redis.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { WebSocket } from 'ws'
import { staffed } from '../../contract/desk/setup.ts'
import { atEnd } from '../../support/cleanup.ts'
import { sharedRedis } from '../../support/servers.ts'
import { until } from '../../support/until.ts'

test('desk 9.7: a socket greets with connected and answers ping', async (t) => {
  const { url, operator } = await staffed(t)
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws/captcha/Shop.Example`, {
    headers: { authorization: `Bearer ${operator.token}` },
  })
  atEnd(t, () => socket.terminate())
  const heard: string[] = []
  socket.on('message', (data) => heard.push(String(data)))
  await once(socket, 'open')

  await until('the greeting', () => heard.length === 1)
  socket.send('ping')
  await until('the first pong', () => heard.length === 2)
  socket.send('not for the server')
  socket.send('{"type": "ping"}')
  await until('the second pong', () => heard.length === 3)

  const greeting = JSON.parse(heard[0] ?? '')
  assert.deepEqual([greeting.type, greeting.payload], ['connected', { domain: 'shop.example' }])
  assert.equal(heard[1], 'pong')
  assert.equal(JSON.parse(heard[2] ?? '').type, 'pong')
})

test('desk 10.5: with CAPTCHA_REDIS_SESSIONS=plain workers read sessions, locks and the queue in Redis', async (t) => {
  const redis = new Redis(await sharedRedis())
  atEnd(t, () => redis.quit())
  const prefix = `plain${process.pid}`
  const env = { CAPTCHA_REDIS_SESSIONS: 'plain', CAPTCHA_REDIS_PREFIX: prefix }
  const lines: string[] = []
  const { create, assign, solve, operator } = await staffed(t, { mode: 'Redis', env, lines })
  const { uuid, id } = await create({ priority: 7, user_agent: 'Agent/1' })

  await until('it is queued', async () => (await redis.zscore(`${prefix}:queue:pending`, uuid)) !== null)
  const score = Number(await redis.zscore(`${prefix}:queue:pending`, uuid))
  await create({ priority: 9, user_agent: 'Agent/1' })
  await until('a raised priority moves it', async () => {
    return Number(await redis.zscore(`${prefix}:queue:pending`, uuid)) < score
  })
  await assign(uuid)
  await until('it is locked', async () => (await redis.get(`${prefix}:task:${id}:lock`)) === operator.username)
  await solve(uuid, operator, { payload: [{ name: 'cf_clearance', value: 'abc' }] })
  const key = `${prefix}:session:shop.example`
  await until('the session is there', async () => (await redis.exists(key)) === 1)

  const session = JSON.parse((await redis.get(key)) ?? '')
  assert.deepEqual(session.cookies, { cf_clearance: 'abc' })
  assert.deepEqual([session.domain, session.user_agent, session.proxy_url], ['shop.example', 'Agent/1', null])
  assert(Date.parse(session.expires_at) > Date.parse(session.created_at))
  assert((await redis.ttl(key)) > 800)
  assert(lines.some((line) => line.includes('CAPTCHA_REDIS_SESSIONS is plain')))
})

test('desk 9.8: an event has one timestamp on the socket and in Redis', async (t) => {
  const prefix = `stamp${process.pid}`
  const heard: { type: string; timestamp: string }[] = []
  const redis = new Redis(await sharedRedis())
  atEnd(t, () => redis.quit())
  await redis.subscribe(`${prefix}:events`)
  redis.on('message', (_channel, text) => heard.push(JSON.parse(text)))
  const { create, solve, operator, listen } = await staffed(t, { mode: 'Redis', env: { CAPTCHA_REDIS_PREFIX: prefix } })
  const socket = await listen(operator)
  const { uuid } = await create()
  await solve(uuid)

  await socket.untilType('session_cached')
  await until('all of them', () => heard.length >= socket.events.length)
  const stamps = (events: readonly { type: string; timestamp: string }[]) =>
    events.map(({ type, timestamp }) => `${type} ${timestamp}`).toSorted()
  assert.deepEqual(stamps(heard), stamps(socket.events))
})
