// A WebSocket client that costs next to nothing, so that the load does not measure itself: one read buffer for all sockets,
// frames looked at where they lie, and a mask of zeros (which leaves the payload as it is).

import { connect, type Socket } from 'node:net'

const PING = 9
const PONG = 10
const CLOSE = 8
const HEAD_END = Buffer.from('\r\n\r\n')
const shared = Buffer.alloc(256 * 1024)

export interface RawSocketOptions {
  host: string
  port: number
  path: string
  headers?: Record<string, string>
  /** The payload is only good until it returns. */
  onMessage(socket: RawSocket, payload: Buffer): void
  onClose(why: string): void
}

export class RawSocket {
  readonly #tcp: Socket
  readonly #options: RawSocketOptions
  #rest: Buffer | null = null
  #isOpen = false
  #isOver = false

  static open(options: RawSocketOptions): RawSocket {
    return new RawSocket(options)
  }

  private constructor(options: RawSocketOptions) {
    this.#options = options
    const { host, port } = options
    const callback = (bytes: number, buffer: Uint8Array): boolean => {
      this.#read(Buffer.from(buffer.buffer, buffer.byteOffset, bytes))
      return true
    }
    this.#tcp = connect({ host, port, noDelay: true, onread: { buffer: shared, callback } })
    this.#tcp.on('connect', () => this.#tcp.write(this.#request()))
    this.#tcp.on('error', (error) => this.#end(error.message))
    this.#tcp.on('close', () => this.#end('closed'))
  }

  /** Text or binary; at most 65,535 bytes. */
  send(payload: Buffer, opcode = 1): void {
    const head = payload.length < 126 ? 6 : 8
    const frame = Buffer.allocUnsafe(head + payload.length)
    frame[0] = 0x80 | opcode
    if (head === 6) {
      frame[1] = 0x80 | payload.length
    } else {
      frame[1] = 0x80 | 126
      frame.writeUInt16BE(payload.length, 2)
    }
    frame.writeUInt32BE(0, head - 4)
    payload.copy(frame, head)
    this.#tcp.write(frame)
  }

  destroy(): void {
    this.#isOver = true
    this.#tcp.destroy()
  }

  #request(): string {
    const { host, port, path, headers = {} } = this.#options
    const lines = [
      `GET ${path} HTTP/1.1`,
      `Host: ${host}:${port}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ]
    return `${lines.join('\r\n')}\r\n\r\n`
  }

  #read(chunk: Buffer): void {
    let data = this.#rest === null ? chunk : Buffer.concat([this.#rest, chunk])
    this.#rest = null
    if (!this.#isOpen) {
      const end = data.indexOf(HEAD_END)
      if (end === -1) {
        this.#rest = Buffer.from(data)
        return
      }
      const status = data.toString('latin1', 9, 12)
      if (status !== '101') return this.#end(`HTTP ${status}`)
      this.#isOpen = true
      data = data.subarray(end + HEAD_END.length)
    }
    this.#frames(data)
  }

  #frames(data: Buffer): void {
    let at = 0
    while (data.length - at >= 2) {
      const short = (data[at + 1] ?? 0) & 0x7f
      const head = short < 126 ? 2 : short === 126 ? 4 : 10
      if (data.length - at < head) break
      const length =
        short < 126 ? short : short === 126 ? data.readUInt16BE(at + 2) : Number(data.readBigUInt64BE(at + 2))
      if (data.length - at < head + length) break
      this.#frame((data[at] ?? 0) & 0x0f, data.subarray(at + head, at + head + length))
      at += head + length
    }
    if (at < data.length) this.#rest = Buffer.from(data.subarray(at))
  }

  #frame(opcode: number, payload: Buffer): void {
    if (opcode === PING) this.send(payload, PONG)
    else if (opcode === CLOSE)
      this.#end(
        `closed with ${payload.length < 2 ? 'no code' : `${payload.readUInt16BE(0)} ${payload.toString('utf8', 2)}`}`,
      )
    else if (opcode !== PONG) this.#options.onMessage(this, payload)
  }

  #end(why: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#tcp.destroy()
    this.#options.onClose(why)
  }
}
