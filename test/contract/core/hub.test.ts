import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import net from 'node:net'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { WebSocket, WebSocketServer } from 'ws'
import { openLog } from '../../../src/core/log/log.ts'
import { startLoops } from '../../../src/core/loop.ts'
import { openHub, type HubLimits } from '../../../src/core/http/sockets/hub.ts'
import { temporaryFolder } from '../../support/servers.ts'
import { until } from '../../support/until.ts'

const LIMITS: HubLimits = {
  messagesMax: 8,
  bytesMax: 65_536,
  roomWithinMs: 300,
  pingEveryMs: 60_000,
  pongWithinMs: 60_000,
}

async function hubWithClient(t: TestContext, limits: Partial<HubLimits>, connect: (port: number) => void) {
  const attached = await attachClient(t, limits, connect)
  const pinging = startLoops([attached.hub.loop], openLog({ LOG_LEVEL: 'silent' }))
  t.after(() => pinging.stop())
  return attached
}

async function attachClient(t: TestContext, limits: Partial<HubLimits>, connect: (port: number) => void) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  t.after(() => server.close())
  await once(server, 'listening')
  const address = server.address()
  assert(address !== null && typeof address === 'object')
  const hub = openHub({ ...LIMITS, ...limits })
  const joined = once(server, 'connection')
  connect(address.port)
  const [socket] = await joined
  assert(socket instanceof WebSocket)
  return { hub, connection: hub.attach(socket) }
}

/** Upgrades, and then neither reads nor answers. */
const stalled = (t: TestContext) => (port: number) => {
  const socket = net.connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  socket.write(
    'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  socket.pause()
}

const reading = (t: TestContext) => (port: number) => void connectTo(t, port)

function connectTo(t: TestContext, port: number): WebSocket {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`)
  socket.on('error', () => {})
  t.after(() => socket.terminate())
  return socket
}

/** In a process of its own, which makes the file when it has answered a ping. */
const elsewhere = (t: TestContext, file: string) => (port: number) => {
  const source = `new (require('ws'))('ws://127.0.0.1:${port}').on('ping', () => require('fs').writeFileSync(${JSON.stringify(file)}, ''))`
  const client = spawn(process.execPath, ['-e', source], { stdio: 'ignore' })
  t.after(() => client.kill('SIGKILL'))
}

const standStill = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

describe('the hub', () => {
  test('a wait for room in a queue that does not move ends with false, and the connection is gone', async (t) => {
    const { hub, connection } = await hubWithClient(t, {}, stalled(t))

    let sent = 0
    while (sent < 5000 && (await connection.room())) {
      connection.send('x'.repeat(50_000))
      sent += 1
    }
    await new Promise<void>((resolve) => connection.onClose(resolve))

    assert(sent > 1 && sent < 5000)
    assert.equal(hub.size(), 0)
    assert.equal(await connection.room(), false)
  })

  test('a ping that is not answered closes the connection, though nothing waits in it', async (t) => {
    const { connection } = await hubWithClient(t, { pingEveryMs: 100, pongWithinMs: 500 }, stalled(t))

    await new Promise<void>((resolve) => connection.onClose(resolve))

    assert.equal(connection.send('x'), false)
  })

  test('a client that pings and never reads the answers is cut off before they pile up', async (t) => {
    const clients: WebSocket[] = []
    const { connection } = await hubWithClient(t, {}, (port) => void clients.push(connectTo(t, port)))
    const [client] = clients
    assert(client !== undefined)
    if (client.readyState !== client.OPEN) await once(client, 'open')
    const seen = { isClosed: false }
    connection.onClose(() => (seen.isClosed = true))

    client.pause()
    for (let sent = 0; !seen.isClosed && sent < 1_000_000; sent += 1000) {
      for (let n = 0; n < 1000 && client.readyState === client.OPEN; n += 1) client.ping('x'.repeat(125))
      await new Promise((resolve) => setImmediate(resolve))
    }

    await until('it is cut off', () => seen.isClosed) // it has ten seconds to read why; its own silence would be found out in minutes
  })

  test('a client that answers pings stays', async (t) => {
    const { hub, connection } = await hubWithClient(t, { pingEveryMs: 100, pongWithinMs: 500 }, reading(t))

    const gone = new Promise<boolean>((resolve) => connection.onClose(() => resolve(true)))
    const stays = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 3500)) // three looks

    assert.equal(await Promise.race([gone, stays]), false)
    assert.equal(hub.size(), 1)
  })

  test('a client stays that has answered while this process stood still', async (t) => {
    const answered = join(await temporaryFolder(t), 'answered')
    const { hub, connection } = await attachClient(t, { pingEveryMs: 0, pongWithinMs: 200 }, elsewhere(t, answered))
    const { signal } = new AbortController()
    await hub.loop.runOnce(signal) // a ping

    const looking = sleep(1).then(() => hub.loop.runOnce(signal))
    while (!existsSync(answered)) standStill(10)
    standStill(300)
    await looking

    assert.equal(connection.send('x'), true)
    assert.equal(hub.size(), 1)
  })

  test('a message larger than the whole limit is sent when nothing else waits', async (t) => {
    const { connection } = await hubWithClient(t, {}, reading(t))

    assert.equal(connection.send('x'.repeat(200_000)), true)
  })

  test('a listener that is added after the close is called at once', async (t) => {
    const { connection } = await hubWithClient(t, {}, reading(t))
    connection.close(1000, 'done')
    await new Promise<void>((resolve) => connection.onClose(resolve))

    let told = 0
    connection.onClose(() => (told += 1))

    assert.equal(told, 1)
  })
})
