// Uploads as they go wrong on real connections: the client falls silent, hangs up, or sends more than anybody reads.
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { text } from 'node:stream/consumers'
import { HttpError } from '../../src/core/http/errors/http-error.ts'
import { receiveUpload } from '../../src/doors/judge/problems/receive-upload.ts'
import { atEnd } from '../support/cleanup.ts'

type Handler = (raw: IncomingMessage, response: ServerResponse) => Promise<void>

/** A connection that has sent the head of an upload of 1,000 bytes. */
async function uploadTo(t: TestContext, handler: Handler): Promise<Socket> {
  const server = createServer((raw, response) => void handler(raw, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(t, () => new Promise((resolve) => server.close(resolve)))
  const address = server.address()
  assert(typeof address === 'object' && address !== null)
  const socket = connect(address.port, '127.0.0.1')
  atEnd(t, async () => socket.destroy())
  await once(socket, 'connect')
  socket.write('PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n')
  return socket
}

test('an upload that falls silent fails with 408, and the connection can still carry the answer', async (t) => {
  const socket = await uploadTo(t, async (raw, response) => {
    const { body } = receiveUpload(raw, response, 20)
    const error = await text(body).catch((thrown: unknown) => thrown)
    assert(error instanceof HttpError)
    response.writeHead(error.status, { connection: 'close' }).end(error.code)
  })
  socket.write('x'.repeat(999))

  const answer = await text(socket)

  assert.match(answer, /^HTTP\/1\.1 408 .*request_timeout/s)
})

test('a client that hangs up in the middle is told apart from a fault of the server', async (t) => {
  const seen = new EventEmitter()
  const heard = once(seen, 'error and reason')
  const socket = await uploadTo(t, async (raw, response) => {
    const { body, signal } = receiveUpload(raw, response)
    const error = await text(body).catch((thrown: unknown) => thrown)
    if (!signal.aborted) await once(signal, 'abort')
    seen.emit('error and reason', error instanceof HttpError && error.status, signal.reason instanceof HttpError)
  })
  socket.write('x')

  socket.resetAndDestroy()

  assert.deepEqual(await heard, [400, true])
})

test('a handler that stops reading an upload can still answer it', async (t) => {
  const socket = await uploadTo(t, async (raw, response) => {
    const { body, signal } = receiveUpload(raw, response)
    body.destroy()
    await once(body, 'close')
    response.writeHead(413, { connection: 'close' }).end(String(signal.aborted))
  })
  socket.write('x'.repeat(500))

  const answer = await text(socket)

  assert.match(answer, /^HTTP\/1\.1 413 .*false/s)
})
