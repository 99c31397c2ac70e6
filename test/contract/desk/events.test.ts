import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { WebSocket } from 'ws'
import { until } from '../../support/until.ts'
import { inBothModes, staffed, type Asker, type SeenEvent } from './setup.ts'

const TASKS = '/api/v1/captcha/tasks'

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

inBothModes(
  'desk 9.1: events have type, timestamp and payload, and come in the order in which things happened',
  async (t, mode) => {
    const { listen, operator, create, assign, solve } = await staffed(t, { mode })
    const heard = await listen(operator)

    const task = await create({ priority: 6 })
    await assign(task.uuid)
    await operator.patch(`${TASKS}/${task.uuid}/status`, { status: 'solving' })
    await solve(task.uuid)
    await heard.untilType('session_cached')

    const { uuid, id } = task
    const about = { task_id: String(id), uuid, domain: 'shop.example' }
    const events = heard.events.map(({ type, payload }) => [type, payload])
    assert.deepEqual(events.slice(0, 3), [
      ['task_created', { ...about, url: 'https://shop.example/cart', priority: 6 }],
      ['task_assigned', { ...about, operator_id: 'ann' }],
      ['task_solving', { ...about, operator_id: 'ann' }],
    ])
    assert.deepEqual(Object.fromEntries(events.slice(3)), {
      task_solved: { ...about, has_session: true, session_ttl: 900 },
      session_cached: { domain: 'shop.example', ttl: 900 },
    })
    for (const { timestamp } of heard.events) assert.match(timestamp, ISO)
    assert.deepEqual(
      heard.events.map(({ id: event }) => event),
      heard.events.map(({ id: event }) => event).toSorted((a, b) => a - b),
    )
  },
)

inBothModes(
  'desk 9.2: a socket of a domain gets that domain only; a program gets its own tasks only',
  async (t, mode) => {
    const { listen, operator, scraper, account, create } = await staffed(t, { mode })
    const rival = await account('sue', 'SCRAPER')
    const [ofTwo, own, rivals] = [
      await listen(operator, '/ws/captcha/TWO.example'),
      await listen(scraper),
      await listen(rival),
    ]

    await create({ url: 'https://one.example/' })
    await create({ url: 'https://two.example/' })
    await rival.post(TASKS, { url: 'https://two.example/' })
    await create({ url: 'https://three.example/' }) // events come in order: what is not for a socket would have come before
    await Promise.all([
      ofTwo.untilType('task_created', 2),
      own.untilType('task_created', 3),
      rivals.untilType('task_created'),
    ])

    const domains = (heard: { events: SeenEvent[] }) => heard.events.map(({ payload }) => payload['domain'])
    assert.deepEqual(domains(ofTwo), ['two.example', 'two.example'])
    assert.deepEqual(domains(own), ['one.example', 'two.example', 'three.example'])
    assert.deepEqual(domains(rivals), ['two.example'])
  },
)

inBothModes('desk 9.3: since replays what was missed, by id or by time', async (t, mode) => {
  const { listen, operator, create } = await staffed(t, { mode })
  const first = await listen(operator)
  for (const n of [1, 2, 3]) await create({ url: `https://s${n}.example/` })
  await first.untilType('task_created', 3)
  const [one, two] = first.events
  first.socket.terminate()

  const domains = (heard: { events: SeenEvent[] }) => heard.events.map(({ payload }) => payload['domain'])
  const byId = await listen(operator, `/ws/captcha?since=${one?.id}`)
  const fromStart = await listen(operator, '/ws/captcha?since=0')
  const byTime = await listen(operator, `/ws/captcha?since=${encodeURIComponent(two?.timestamp ?? '')}`)
  await create({ url: 'https://s4.example/' })
  await Promise.all([
    byId.untilType('task_created', 3),
    fromStart.untilType('task_created', 4),
    until('the last event', () => domains(byTime).includes('s4.example')),
  ])

  assert.deepEqual(domains(byId), ['s2.example', 's3.example', 's4.example'])
  assert.deepEqual(domains(fromStart), ['s1.example', 's2.example', 's3.example', 's4.example'])
  assert.deepEqual(domains(byTime).slice(-2), ['s3.example', 's4.example'])
})

test('desk 9.4: what happens once the socket is open is never missed', async (t) => {
  const { listen, operator, create } = await staffed(t)

  for (let n = 0; n < 25; n += 1) {
    const heard = await listen(operator)
    await create({ url: `https://s${n}.example/` })
    const event = await heard.untilType('task_created')
    assert.equal(event?.payload['domain'], `s${n}.example`)
    heard.socket.terminate()
  }
})

test('desk 9.5: the token comes as a header or a subprotocol, never in the query; the origin is checked', async (t) => {
  const { url, operator, account } = await staffed(t)
  const player = await account('kim')
  const at = url.replace('http', 'ws')
  const open = async (path: string, protocols: string[], headers: Record<string, string>) => {
    const socket = new WebSocket(at + path, protocols, { headers })
    const refused = once(socket, 'unexpected-response').then(([, response]) => Number(response.statusCode))
    socket.on('error', () => {})
    const status = await Promise.race([once(socket, 'open').then(() => 101), refused])
    const { protocol } = socket
    socket.terminate()
    return status === 101 ? protocol : status
  }
  const bearer = ({ token }: Asker) => ({ authorization: `Bearer ${token}` })

  assert.equal(await open('/ws/captcha', [], bearer(operator)), '')
  assert.equal(await open('/ws/captcha', ['reeve.bearer', operator.token], {}), 'reeve.bearer')
  assert.equal(await open(`/ws/captcha?token=${operator.token}`, [], {}), 401)
  assert.equal(await open('/ws/captcha', [], {}), 401)
  assert.equal(await open('/ws/captcha', [], bearer(player)), 403)
  assert.equal(await open('/ws/captcha', [], { ...bearer(operator), origin: 'https://evil.example' }), 403)
  assert.equal(await open('/ws/captcha', [], { ...bearer(operator), origin: url }), '')
  for (const since of ['yesterday', '-271821-04-20T00:00:00Z', '%2B275760-09-13T00:00:00Z', '2026-13-01'])
    assert.equal(await open(`/ws/captcha?since=${since}`, [], bearer(operator)), 422, since)
  assert.equal((await operator.get('/ws/captcha')).status, 426)
})

test('desk 9.6: a client that stops reading is closed, and delays nobody', async (t) => {
  const env = { WS_QUEUE_LIMIT_MESSAGES: '2', WS_QUEUE_LIMIT_BYTES: '1024' }
  const { listen, operator, create, database, url } = await staffed(t, { env })
  const metricsText = async () => {
    const answer = await fetch(`${url}/metrics`, { headers: { accept: 'application/json' } })
    return JSON.stringify(await answer.json())
  }
  const slow = await listen(operator)
  const quick = await listen(operator)
  slow.socket.pause()
  await create()
  await quick.untilType('task_created') // so that what is written into the log by hand comes after it
  const long = `insert into events (outbox_id, channel, type, payload)
    select 1000000 + n, 'captcha', 'task_created', json_build_object('account_id', 1, 'timestamp', '2026-01-01T00:00:00.000Z', 'payload',
      json_build_object('domain', 'shop.example', 'pad', repeat('x', 100000))) from generate_series(1, 300) n`
  await database.query(long)
  await create({ url: 'https://two.example/' })

  await quick.untilType('task_created', 302)
  await until('the server has let go of the slow one', async () => (await metricsText()).includes('"websocket":1}'))
  slow.socket.resume()
  await until('the slow one is closed', () => slow.socket.readyState === WebSocket.CLOSED)
  assert.equal(quick.socket.readyState, WebSocket.OPEN)
})
