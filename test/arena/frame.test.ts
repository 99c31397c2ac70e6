import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import { asciiFrame, textFrame } from '../../src/doors/arena/engine/frame.ts'

test('frames of every length are what a WebSocket client reads, between those that ws writes itself', async (t) => {
  const texts = [0, 1, 125, 126, 127, 257, 65_535, 65_536, 70_000].map((length) => 'x'.repeat(length))
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sockets = new WebSocketServer({ server, perMessageDeflate: false })
  t.after(() => {
    for (const client of sockets.clients) client.terminate()
    server.close()
  })
  sockets.on('connection', (socket, request) => {
    for (const text of texts) {
      request.socket.write(asciiFrame(text))
      socket.send(`after ${text.length}`)
    }
    request.socket.write(textFrame('텍스트 \u{1f600}'))
    socket.close()
  })
  const address = server.address()
  assert(typeof address === 'object' && address !== null)

  const client = new WebSocket(`ws://127.0.0.1:${address.port}`)
  const heard: string[] = []
  client.on('message', (data, isBinary) => heard.push(isBinary ? 'binary' : String(data)))
  await once(client, 'close')

  assert.deepEqual(heard, [...texts.flatMap((text) => [text, `after ${text.length}`]), '텍스트 \u{1f600}'])
})
