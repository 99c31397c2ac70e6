// Many connections that pipeline requests for what anyone may ask. What is counted is work, not time: how many of their requests
// are answered between two requests of somebody else.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Server } from 'node:http'
import net from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { PIPELINED_MAX, serverWithin } from '../../src/core/http/pipelining.ts'
import { setup } from '../contract/core/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { nodeArgs } from '../support/program.ts'

const SOCKETS = 612
const PIPELINED = 16
// An honest request takes some turns of the event loop, and each turn may answer one request of every socket.
const TURNS_MAX = 4

const LIMITS = {
  headerBytesMax: 16_384,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  checkTimeoutsMs: 1000,
  requestsMax: 1000,
}

function portOf(server: Server): number {
  const address = server.address()
  assert(address !== null && typeof address === 'object')
  return address.port
}

async function flood(t: TestContext, url: string, paths: readonly string[], requests: number): Promise<void> {
  const args = [new URL(url).port, String(SOCKETS), String(requests), ...paths]
  const child = spawn(process.execPath, [...nodeArgs(new URL('./flood-process.ts', import.meta.url)), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  atEnd(t, async () => {
    if (child.exitCode === null && child.kill('SIGKILL')) await once(child, 'exit')
  })
  await once(child.stdout, 'data')
}

async function connected(t: TestContext, url: string): Promise<net.Socket> {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
  atEnd(t, () => socket.destroy())
  await once(socket, 'connect')
  return socket
}

describe('pipelined requests', () => {
  for (const paths of [['/docs/json'], ['/metrics', '/metrics/prometheus'], ['/healthz', '/api/health', '/']]) {
    test(`${SOCKETS} sockets that pipeline ${paths.join(', ')} leave turns to others`, async (t) => {
      const { http } = await setup(t, { env: { LOG_LEVEL: 'silent' } })
      const { url } = await http.listen()
      const honest = await connected(t, url)
      const answered = () => http.app.httpTotals().total
      const between: number[] = []

      const sent = flood(t, url, paths, PIPELINED)
      while (answered() < SOCKETS * PIPELINED) {
        const before = answered()
        honest.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n')
        await once(honest, 'data')
        between.push(answered() - before - 1)
      }
      await sent

      t.diagnostic(`${between.length} honest requests; at most ${Math.max(...between)} others answered meanwhile`)
      assert(Math.max(...between) <= SOCKETS * TURNS_MAX, `${Math.max(...between)} were answered while one waited`)
    })
  }

  test('are answered in their order', async (t) => {
    const { http } = await setup(t)
    const { url } = await http.listen()
    const socket = await connected(t, url)

    socket.write(['/auth/me', '/healthz', '/nowhere'].map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''))
    const statuses: string[] = []
    while (statuses.length < 3) {
      const [chunk] = await once(socket, 'data')
      statuses.push(...[...String(chunk).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = '']) => status))
    }

    assert.deepEqual(statuses, ['401', '200', '404'])
  })

  test(`a connection with more than ${PIPELINED_MAX} requests waiting is cut`, async (t) => {
    const { http } = await setup(t)
    const { url } = await http.listen()
    const socket = await connected(t, url)

    socket.on('error', () => {})
    socket.resume()
    socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(PIPELINED_MAX * 3))
    await once(socket, 'close')

    assert(http.app.httpTotals().total <= 1)
    assert.equal((await fetch(`${url}/healthz`)).status, 200)
  })
})

test('a client that does not read gets one answer at a time, and is cut when it stays so', async (t) => {
  let begun = 0
  const factory = serverWithin({ ...LIMITS, idleMs: 300 })
  const server = factory((_request, response) => {
    begun += 1
    response.end(Buffer.alloc(8 * 1024 * 1024))
  }, {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(t, () => server.close())
  const socket = net.connect(portOf(server), '127.0.0.1')
  const cut = once(server, 'timeout')

  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(10))
  await cut
  socket.destroy()

  assert.equal(begun, 1)
})
