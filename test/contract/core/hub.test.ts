import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import { openLog } from '../../../src/core/log/log.ts'
import { startLoops } from '../../../src/core/loop.ts'
import { openHub, type HubLimits } from '../../../src/core/http/sockets/hub.ts'

const LIMITS: HubLimits = {
  messagesMax: 8,
  bytesMax: 65_536,
  roomWithinMs: 300,
  pingEveryMs: 60_000,
  pongWithinMs: 60_000,
}

async function hubWithClient(t: TestContext, limits: Partial<HubLimits>, connect: (port: number) => void) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  t.after(() => server.close())
  await once(server, 'listening')
  const address = server.address()
  assert(address !== null && typeof address === 'object')
  const hub = openHub({ ...LIMITS, ...limits })
  const pinging = startLoops([hub.loop], openLog({ LOG_LEVEL: 'silent' }))
  t.after(() => pinging.stop())
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

const reading = (t: TestContext) => (port: number) => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}`)
  socket.on('error', () => {})
  t.after(() => socket.terminate())
}

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

  test('a client that answers pings stays', async (t) => {
    const { hub, connection } = await hubWithClient(t, { pingEveryMs: 100, pongWithinMs: 500 }, reading(t))

    const gone = new Promise<boolean>((resolve) => connection.onClose(() => resolve(true)))
    const stays = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 3500)) // three looks

    assert.equal(await Promise.race([gone, stays]), false)
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
