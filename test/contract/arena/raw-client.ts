// A WebSocket client in bare TCP, for what a well-behaved one cannot do: stop reading, and send frames that are none.
import { once } from 'node:events'
import net from 'node:net'
import type { TestContext } from 'node:test'

export interface RawClient {
  socket: net.Socket
  /** A masked frame, as clients send them. */
  frame(opcode: number, payload: Buffer | string): Buffer
  /** All that was received since the upgrade. */
  received(): Buffer
  /** The code and reason of the close frame, once the connection has ended. */
  closed: Promise<{ code: number | null; reason: string }>
}

export async function rawClient(t: TestContext, url: string, token: string): Promise<RawClient> {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  const chunks: Buffer[] = []
  const closed = new Promise<{ code: number | null; reason: string }>((resolve) => {
    socket.once('close', () => resolve(closeFrameIn(Buffer.concat(chunks))))
  })
  socket.write(
    [
      'GET /ws HTTP/1.1',
      'Host: 127.0.0.1',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      `Authorization: Bearer ${token}`,
      '\r\n',
    ].join('\r\n'),
  )
  const [head] = await once(socket, 'data')
  const body = head.subarray(head.indexOf('\r\n\r\n') + 4)
  if (body.length > 0) chunks.push(body)
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  return { socket, frame: maskedFrame, received: () => Buffer.concat(chunks), closed }
}

function maskedFrame(opcode: number, payload: Buffer | string): Buffer {
  const data = Buffer.from(payload)
  const head =
    data.length < 126
      ? Buffer.from([0x80 | opcode, 0x80 | data.length])
      : Buffer.from([0x80 | opcode, 0x80 | 126, data.length >> 8, data.length & 0xff])
  return Buffer.concat([head, Buffer.alloc(4), data])
}

/** Frames of a server are not masked. */
function closeFrameIn(data: Buffer): { code: number | null; reason: string } {
  let at = 0
  while (data.length - at >= 2) {
    const opcode = (data[at] ?? 0) & 0x0f
    const short = data[at + 1] ?? 0
    const head = short < 126 ? 2 : short === 126 ? 4 : 10
    if (data.length - at < head) break
    const length =
      short < 126 ? short : short === 126 ? data.readUInt16BE(at + 2) : Number(data.readBigUInt64BE(at + 2))
    const payload = data.subarray(at + head, at + head + length)
    if (opcode === 8 && payload.length >= 2)
      return { code: payload.readUInt16BE(0), reason: payload.toString('utf8', 2) }
    at += head + length
  }
  return { code: null, reason: '' }
}
