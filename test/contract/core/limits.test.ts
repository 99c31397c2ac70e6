import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import type { FastifyPluginAsync } from 'fastify'
import type { Door } from '../../../src/core/door.ts'
import { detailBody } from '../../../src/core/http/errors/detail.ts'
import { setup } from './setup.ts'

const DOOR: Door = {
  name: 'judge',
  about: 'A test.',
  settings: {},
  paths: ['/slow'],
  errorBody: detailBody,
  migrations: null,
  open: () => ({}),
}
const routes: FastifyPluginAsync = async (app) => {
  app.post('/slow', { config: { bodyTimeoutMs: 300 } }, async () => ({ ok: true }))
}

async function listening(t: TestContext) {
  const all = await setup(t, { doors: [{ door: DOOR, opened: { routes } }] })
  const { url } = await all.http.listen()
  /** Sends bytes as they are and returns all that comes back until the server hangs up. */
  const raw = async (...chunks: (string | Buffer)[]) => {
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
    t.after(() => socket.destroy())
    socket.on('error', () => {}) // the server may hang up while we still write
    await once(socket, 'connect')
    let answer = ''
    socket.on('data', (data) => (answer += String(data)))
    for (const chunk of chunks) socket.write(chunk)
    await once(socket, 'close')
    return { status: Number(answer.split(' ')[1]), body: answer.split('\r\n\r\n').slice(1).join('\r\n\r\n'), answer }
  }
  return { ...all, url, raw }
}

describe('limits', () => {
  test('a body of 5 MB is read, one byte more is 413, with or without a length', async (t) => {
    const { url, account } = await listening(t)
    const { token } = await account('root', ['ADMIN'])
    const post = (body: string | ReadableStream) =>
      fetch(`${url}/admin/jobs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body,
        duplex: 'half',
      })
    const bodyOf = (bytes: number) => {
      const empty = '{"kind":"echo","payload":""}'
      return `${empty.slice(0, -2)}${'x'.repeat(bytes - empty.length)}"}`
    }
    const max = 5 * 1024 * 1024

    const fits = await post(bodyOf(max))
    const over = await post(bodyOf(max + 1))
    const chunked = await post(new Blob([bodyOf(max + 1)]).stream())

    assert.equal(fits.status, 202)
    for (const answer of [over, chunked]) {
      assert.equal(answer.status, 413)
      assert.deepEqual(await answer.json(), { detail: 'The body is too large.' })
    }
  })

  test('headers over 16 KB are 431', async (t) => {
    const { raw } = await listening(t)

    const answer = await raw(`GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(17_000)}\r\n\r\n`)

    assert.equal(answer.status, 431)
    assert.deepEqual(JSON.parse(answer.body), { detail: 'The headers are too large.' })
  })

  test('what is not HTTP is 400', async (t) => {
    const { raw } = await listening(t)
    const requests = [
      'hello\r\n\r\n',
      'BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET / HTTP/9.9\r\nHost: x\r\n\r\n',
      'POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'POST /auth/login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n\r\n',
      'POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
      'GET /a\0b HTTP/1.1\r\nHost: x\r\n\r\n',
      Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00]), // TLS
    ]

    for (const request of requests) {
      const { status, answer } = await raw(request)
      assert.equal(status, 400, `${JSON.stringify(String(request))}: ${answer}`)
    }
  })

  test('a body that trickles in is 408 in the door’s error format when its route’s time is up', async (t) => {
    const { raw } = await listening(t)

    const head = 'POST /slow HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n'
    const answer = await raw(head, '{"a"')

    assert.equal(answer.status, 408)
    assert.deepEqual(JSON.parse(answer.body), { detail: 'The body did not arrive within 0.3 seconds.' })
  })

  test('a body cut off by its sender is not logged as an error', async (t) => {
    const { app, url, lines } = await listening(t)
    const arrived = once(app.server, 'request')
    const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(
      'POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{',
    )
    const [request] = await arrived
    socket.destroy()
    await new Promise((resolve) => request.socket.once('close', resolve))

    assert.equal((await fetch(`${url}/healthz`)).status, 200)
    assert.deepEqual(
      lines.filter((line) => line.includes('"level":"error"')),
      [],
    )
  })
})
