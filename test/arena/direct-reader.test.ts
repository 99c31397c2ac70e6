import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import * as fc from 'fast-check'
import { WebSocketServer, type WebSocket } from 'ws'
import { readDirectly, textOf } from '../../src/doors/arena/sockets/direct-reader.ts'
import { cases } from '../support/size.ts'

const MESSAGE_BYTES_MAX = 2000

/** What a client sends: one frame, correct or not. */
interface SentFrame {
  first: number
  payload: Buffer
  mask: Buffer | null
  length: 'usual' | '2 bytes' | '8 bytes'
}

const mask = fc.uint8Array({ minLength: 4, maxLength: 4 }).map((bytes) => Buffer.from(bytes))
const text = fc.oneof(
  fc.constantFrom(
    '',
    'take',
    'take me',
    `take ${'x'.repeat(200)}`,
    'pause',
    'take and pause',
    '텍스트',
    'x'.repeat(1900),
  ),
  fc.string({ maxLength: 140 }),
)
const textFrame = fc.record({
  first: fc.constant(0x81),
  payload: text.map((chars) => Buffer.from(chars)),
  mask,
  length: fc.constantFrom('usual', 'usual', 'usual', '2 bytes', '8 bytes'),
})
const pong = textFrame.map((frame) => ({ ...frame, first: 0x8a }))
const partsOf = fc
  .tuple(textFrame, textFrame, pong)
  .map(([a, b, c]) => [{ ...a, first: 0x01 }, c, { ...b, first: 0x80 }])
const oddFrame = fc.record({
  first: fc.constantFrom(0x81, 0x82, 0x89, 0x8a, 0x88, 0x01, 0x00, 0x80, 0xc1, 0xa1, 0x91, 0x83, 0x8b, 0x09, 0x0a),
  payload: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  mask: fc.option(mask, { freq: 20 }),
  length: fc.constantFrom('usual', '2 bytes', '8 bytes'),
})
const oversized = textFrame.map((frame) => ({ ...frame, payload: Buffer.alloc(MESSAGE_BYTES_MAX + 1, 'x') }))
const sent: fc.Arbitrary<SentFrame[]> = fc
  .array(
    fc.oneof(
      { weight: 20, arbitrary: textFrame.map((frame): SentFrame[] => [frame]) },
      { weight: 5, arbitrary: pong.map((frame): SentFrame[] => [frame]) },
      { weight: 3, arbitrary: partsOf.map((frames): SentFrame[] => frames) },
      { weight: 2, arbitrary: oddFrame.map((frame): SentFrame[] => [frame]) },
      { weight: 1, arbitrary: oversized.map((frame): SentFrame[] => [frame]) },
    ),
    { maxLength: 12 },
  )
  .map((frames) => frames.flat())

test('whatever frames come, and however they are cut, as much is heard as `ws` alone hears, in the same order', async (t) => {
  const open = await openServer(t)
  await fc.assert(
    fc.asyncProperty(sent, fc.array(fc.nat(300), { minLength: 1 }), async (frames, cuts) => {
      const bytes = Buffer.concat(frames.map(encode))
      const direct = await open()
      const reference = await open()
      readDirectly(direct.tcp, {
        takeText: (payload) => isOpen(direct) && takes(textOf(payload)) && direct.hear('message', textOf(payload)),
        takePong: (payload) => isOpen(direct) && direct.hear('pong', textOf(payload)),
      })

      await Promise.all([deliver(direct, bytes, cuts), deliver(reference, bytes, cuts)])

      assert.deepEqual(direct.heard, reference.heard)
      direct.tcp.destroy()
      reference.tcp.destroy()
    }),
    { numRuns: cases(300) },
  )
})

test('text that is taken never reaches `ws`, and what is not taken does', async (t) => {
  const open = await openServer(t)
  const peer = await open()
  const taken: string[] = []
  readDirectly(peer.tcp, {
    takeText: (payload) => takes(textOf(payload)) && taken.push(textOf(payload)) > 0,
    takePong: () => false,
  })

  const frames = ['take 1', 'other', 'take 2'].map((chars) => ({ ...PLAIN, payload: Buffer.from(chars) }))
  for (const frame of frames) peer.tcp.push(encode(frame))

  assert.deepEqual(taken, ['take 1', 'take 2'])
  assert.deepEqual(peer.heard, ['message other'])
})

const PLAIN: SentFrame = { first: 0x81, payload: Buffer.alloc(0), mask: Buffer.from([1, 2, 3, 4]), length: 'usual' }

const isOpen = ({ socket }: Peer): boolean => socket.readyState === socket.OPEN

const takes = (chars: string): boolean => chars.startsWith('take')

function encode({ first, payload, mask: key, length }: SentFrame): Buffer {
  const size = payload.length
  const form = length === 'usual' && size > 125 ? '2 bytes' : length
  const head = Buffer.alloc(form === 'usual' ? 2 : form === '2 bytes' ? 4 : 10)
  head[0] = first
  head[1] = (key === null ? 0 : 0x80) | (form === 'usual' ? size : form === '2 bytes' ? 126 : 127)
  if (form === '2 bytes') head.writeUInt16BE(size, 2)
  if (form === '8 bytes') head.writeBigUInt64BE(BigInt(size), 2)
  const masked = key === null ? payload : payload.map((byte, index) => byte ^ (key[index % 4] ?? 0))
  return Buffer.concat([head, key ?? Buffer.alloc(0), masked])
}

interface Peer {
  tcp: Socket
  socket: WebSocket
  heard: string[]
  hear(what: string, chars: string): boolean
}

/** As if the kernel delivered these pieces. What a paused connection has not read follows when it is resumed. */
async function deliver({ tcp, socket, heard }: Peer, bytes: Buffer, cuts: readonly number[]): Promise<void> {
  let at = 0
  for (let index = 0; at < bytes.length; index += 1) {
    const end = at + 1 + (cuts[index % cuts.length] ?? 0)
    tcp.push(Buffer.from(bytes.subarray(at, end)))
    at = end
    await turn()
    if (index % 3 === 2) socket.resume()
  }
  for (let left = 0; left < 20; left += 1) {
    socket.resume()
    await turn()
  }
  heard.push(`state ${socket.readyState}`)
}

async function openServer(t: TestContext): Promise<() => Promise<Peer>> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  assert(typeof address === 'object' && address !== null)
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: MESSAGE_BYTES_MAX })
  const clients: Socket[] = []
  t.after(() => {
    for (const client of clients) client.destroy()
    server.close()
  })

  return () =>
    new Promise((resolve) => {
      server.once('upgrade', (request, _duplex, head) => {
        const tcp = request.socket
        sockets.handleUpgrade(request, tcp, head, (socket) => resolve(listen(tcp, socket)))
      })
      const client = connect(address.port, '127.0.0.1').on('error', () => {})
      client.resume()
      clients.push(client)
      client.write(
        'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
          'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
      )
    })
}

function listen(tcp: Socket, socket: WebSocket): Peer {
  const heard: string[] = []
  const hear = (what: string, chars: string): boolean => {
    heard.push(`${what} ${chars}`)
    if (what === 'message' && chars.includes('pause')) socket.pause()
    return true
  }
  socket.on('message', (data, isBinary) => hear(isBinary ? 'binary' : 'message', latin1(data)))
  socket.on('ping', (data) => hear('ping', latin1(data)))
  socket.on('pong', (data) => hear('pong', latin1(data)))
  socket.on('error', (error) => heard.push('code' in error ? String(error.code) : error.message))
  return { tcp, socket, heard, hear }
}

const latin1 = (data: unknown): string => (Buffer.isBuffer(data) ? data.toString('latin1') : 'not a buffer')
