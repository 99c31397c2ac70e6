import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { WebSocket } from 'ws'
import type { Door } from '../../../src/core/door.ts'
import { detailBody } from '../../../src/core/http/errors/detail.ts'
import type { Connection } from '../../../src/core/http/sockets/hub.ts'
import { requireSocket } from '../../../src/core/http/auth/socket-auth.ts'
import type { NewEvent } from '../../../src/core/events/events.ts'
import { startProcessorTimer } from '../../support/processor-time.ts'
import { setup, type Setup } from './setup.ts'

const DOOR: Door = {
  name: 'arena',
  about: 'A test.',
  settings: {},
  paths: ['/changes'],
  errorBody: detailBody,
  migrations: null,
  open: () => ({}),
}

/** A server that listens, with a door whose sockets the test holds in its hands. */
async function live(t: TestContext, env: Record<string, string> = {}) {
  const connections: Connection[] = []
  let guard: ReturnType<typeof requireSocket> | null = null
  const routes: FastifyPluginAsync = async (app) => {
    const onRequest = async (request: FastifyRequest) => guard?.(request)
    app.get('/changes', { websocket: true, onRequest }, (socket) => void connections.push(app.hub.attach(socket)))
  }
  const all = await setup(t, { env, doors: [{ door: DOOR, opened: { routes } }] })
  guard = requireSocket(all.identity)
  const { url } = await all.http.listen()
  const { token } = await all.account('root', ['ADMIN'])
  /** Listen before you wait: the first messages may come with the answer to the upgrade. */
  const open = (path: string) => {
    const socket = new WebSocket(url.replace('http', 'ws') + path, { headers: { authorization: `Bearer ${token}` } })
    t.after(() => socket.terminate())
    return socket
  }
  const connect = async () => {
    const socket = open('/changes')
    await once(socket, 'open')
    return socket
  }
  return { ...all, url, token, open, connect, connections }
}

/** What the server answers when it refuses to upgrade. */
async function refusal(url: string, protocols: string[], headers: Record<string, string>) {
  const socket = new WebSocket(url.replace('http', 'ws'), protocols, { headers })
  const opened = once(socket, 'open').then(() => null)
  const refused = once(socket, 'unexpected-response').then(async ([, response]) => {
    let body = ''
    for await (const chunk of response) body += String(chunk)
    return { status: Number(response.statusCode), body }
  })
  socket.on('error', () => {})
  const answer = await Promise.race([opened, refused])
  const { protocol } = socket
  socket.terminate()
  return answer ?? { status: 101, body: protocol }
}

const publish = async ({ database, engine }: Setup, events: readonly NewEvent[]) => {
  const { effect } = engine.events
  await database.transaction(async (tx) => {
    for (const event of events) {
      const { sql, row } = effect(event)
      await tx.query(sql, [JSON.stringify([row])])
    }
  })
  await engine.events.transfer.transfer()
}

describe('who may open a WebSocket', () => {
  test('a token from the header or the subprotocols opens it; the token is not echoed', async (t) => {
    const { url, token } = await live(t)

    const header = await refusal(`${url}/changes`, [], { authorization: `Bearer ${token}` })
    const protocol = await refusal(`${url}/changes`, ['reeve.bearer', token], {})

    assert.deepEqual(header, { status: 101, body: '' })
    assert.deepEqual(protocol, { status: 101, body: 'reeve.bearer' })
  })

  test('no token, a wrong one or one in the query is 401 in the door’s error format, before the upgrade', async (t) => {
    const { url, token } = await live(t)

    const answers = [
      await refusal(`${url}/changes`, [], {}),
      await refusal(`${url}/changes?token=${token}&access_token=${token}`, [], {}),
      await refusal(`${url}/changes`, ['reeve.bearer', 'f'.repeat(64)], {}),
      await refusal(`${url}/changes`, ['reeve.bearer'], {}),
      await refusal(`${url}/changes`, [], { authorization: 'Bearer x' }),
    ]

    for (const answer of answers) assert.deepEqual(answer, { status: 401, body: '{"detail":"Invalid token"}' })
  })

  test('a page of another origin is 403; our own, the public one and listed ones are not', async (t) => {
    const { url, token } = await live(t, {
      PUBLIC_URL: 'https://reeve.example',
      ALLOWED_ORIGINS: 'https://console.example,https://two.example',
    })
    const from = async (origin: string) =>
      (await refusal(`${url}/changes`, [], { authorization: `Bearer ${token}`, origin })).status

    assert.equal(await from('https://evil.example'), 403)
    assert.equal(await from('null'), 403)
    assert.equal(await from('https://reeve.example.evil.example'), 403)
    assert.equal(await from(url), 101)
    assert.equal(await from('https://reeve.example'), 101)
    assert.equal(await from('https://two.example'), 101)
  })

  test('plain HTTP at a socket’s path is 426; an upgrade anywhere else is refused', async (t) => {
    const { url, ask, token, account } = await live(t)
    const player = await account('ann')

    assert.equal((await ask({ url: '/changes', token })).statusCode, 426)
    assert.equal((await refusal(`${url}/healthz?secret=canary`, [], {})).status, 400)
    assert.equal((await refusal(`${url}/nope`, [], {})).status, 404)
    const events = `${url}/admin/events?channel=c`
    assert.equal((await refusal(events, [], { authorization: `Bearer ${player.token}` })).status, 403)
    assert.equal((await refusal(`${url}/admin/events`, [], { authorization: `Bearer ${token}` })).status, 422)
  })

  test('a message over 64 KB closes the socket with 1009', async (t) => {
    const { connect } = await live(t)
    const socket = await connect()

    socket.send('x'.repeat(65 * 1024))
    const [code] = await once(socket, 'close')

    assert.equal(code, 1009)
  })
})

describe('/admin/events', () => {
  test('a channel is replayed since an id and then followed, in order, with none missing or doubled', async (t) => {
    const all = await live(t)
    const event = (n: number): NewEvent => ({ channel: 'c', type: 'n', payload: { n } })
    await publish(
      all,
      Array.from({ length: 500 }, (_, n) => event(n)),
    )
    await publish(all, [{ channel: 'other', type: 'n', payload: null }])

    const socket = all.open('/admin/events?channel=c&since=0')
    const seen: { id: number; payload: { n: number } }[] = []
    const done = new Promise<void>((resolve) => {
      socket.on('message', (data) => {
        seen.push(JSON.parse(String(data)))
        if (seen.length === 520) resolve()
      })
    })
    await once(socket, 'open')
    for (let n = 500; n < 520; n += 1) await publish(all, [event(n)])
    await done

    assert.deepEqual(
      seen.map(({ payload }) => payload.n),
      Array.from({ length: 520 }, (_, n) => n),
    )
    assert.deepEqual(Object.keys(seen[0] ?? {}), ['id', 'channel', 'type', 'payload', 'at'])

    const later = all.open(`/admin/events?channel=c&since=${seen[517]?.id}`)
    const [first] = await once(later, 'message')
    assert.equal(JSON.parse(String(first)).payload.n, 518)
  })
})

describe('the hub', () => {
  test('a burst is not held against a client that reads', async (t) => {
    const { connect, connections } = await live(t)
    const socket = await connect()
    const [connection] = connections
    let received = 0
    const all = new Promise<void>((resolve) => socket.on('message', () => (received += 1) === 200 && resolve()))

    const sent = Array.from({ length: 200 }, (_, n) => connection?.send(`message ${n}`))
    await all

    assert(sent.every((ok) => ok === true))
  })

  test('a client that stops reading is cut off after ten seconds, and its neighbour notices nothing', async (t) => {
    const { url, token, connect, connections } = await live(t)
    const stalled = await stall(t, url, token)
    const reader = await connect()
    const [slow, quick] = connections
    assert(slow !== undefined && quick !== undefined)
    let received = 0
    let sent = 0
    const waits: number[] = []
    const processorMs = startProcessorTimer() // this loop is busy all the time: a pause of the machine is no wait
    reader.on('message', (data) => {
      received += 1
      waits.push(processorMs() - Number(String(data).split(' ')[0]))
    })

    const closed = new Promise<number>((resolve) => slow.onClose(() => resolve(performance.now())))
    let overAt = 0
    for (let n = 0; n < 2000 && overAt === 0; n += 1) {
      if (!slow.send('x'.repeat(60_000))) overAt = performance.now()
      quick.send(`${processorMs()} hello`)
      sent += 1
      await new Promise((resolve) => setImmediate(resolve))
    }
    const closedAt = await closed
    const receivedBefore = received
    stalled.destroy()

    assert(overAt > 0, 'the queue never went over its limit')
    assert(closedAt - overAt < 20_000, `${closedAt - overAt} ms until it was cut off`)
    assert(received > 10)
    assert.equal(receivedBefore, sent, 'a neighbour waited for the cut')
    assert(Math.max(...waits) < 1000, `a neighbour waited ${Math.max(...waits)} ms`)
    assert.equal(slow.send('more'), false)
    assert.equal(quick.send('0 still here'), true)
  })

  test('a client that is over the limit and still reads is told why: 1008 backpressure_exceeded', async (t) => {
    const { connect, connections } = await live(t)
    const socket = await connect()
    const [connection] = connections
    const closed = once(socket, 'close')

    socket.pause()
    while (connection?.send('x'.repeat(60_000)) === true) await new Promise((resolve) => setImmediate(resolve))
    socket.resume()
    const [code, reason] = await closed

    assert.deepEqual([code, String(reason)], [1008, 'backpressure_exceeded'])
  })
})

/** A TCP client that upgrades and then reads nothing more. */
async function stall(t: TestContext, url: string, token: string): Promise<net.Socket> {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(
    [
      'GET /changes HTTP/1.1',
      'Host: 127.0.0.1',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      `Authorization: Bearer ${token}`,
      '\r\n',
    ].join('\r\n'),
  )
  await once(socket, 'data')
  socket.pause()
  return socket
}

describe('drain', () => {
  test('sockets are closed with 1001, requests in flight are answered, new connections refused', async (t) => {
    const { app, connect, http, url, ask, token, engine } = await live(t, { DRAIN_TIMEOUT_SEC: '120' })
    const socket = await connect()
    const goodbye = once(socket, 'close')
    const submitted = await ask({ method: 'POST', url: '/admin/jobs', token, payload: { kind: 'echo', payload: 1 } })
    const arrived = once(app.server, 'request')
    const waiting = fetch(`${url}/admin/jobs/${submitted.json().job_id}`, {
      headers: { authorization: `Bearer ${token}`, prefer: 'wait=50' },
    })
    while ((await engine.ledger.get(submitted.json().job_id)) === null)
      await new Promise((resolve) => setImmediate(resolve))
    await arrived
    await fetch(`${url}/healthz`) // a keep-alive connection that is idle
    await new Promise((resolve) => setTimeout(resolve, 200)) // so that the long poll waits; one that does not yet is answered too

    const began = performance.now()
    await http.close()
    const ms = performance.now() - began

    const [code] = await goodbye
    assert.equal(code, 1001)
    const answer = await waiting
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('connection'), 'close')
    assert(ms < 40_000, `${ms} ms`) // neither until the poll's 50 s nor until the time to drain was up
    await assert.rejects(fetch(`${url}/healthz`))
  })

  test('a request that never ends is cut off when the time is up', async (t) => {
    const { app, http, url } = await live(t, { DRAIN_TIMEOUT_SEC: '1' })
    const arrived = once(app.server, 'request')
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(
      'POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{',
    )
    await arrived

    const began = performance.now()
    await http.close()

    assert(performance.now() - began < 20_000) // not until the 30 s that a request may take
  })

  test('a client that is connected and says nothing is cut off when the time is up', { timeout: 60_000 }, async (t) => {
    const { http, url } = await live(t, { DRAIN_TIMEOUT_SEC: '1' })
    const silent = net.connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})
    t.after(() => silent.destroy())
    await once(silent, 'connect')

    await http.close()
  })
})
