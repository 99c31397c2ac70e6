// One WebSocket of a player. Frames are built elsewhere and written to the TCP connection directly, without a copy or a
// callback per message. Only what the kernel does not accept is queued.
//
// A client that does not keep up is closed with 1008 `backpressure_exceeded`: when its queue exceeds the limit, or when it
// does not answer a ping in time. (The kernel buffers megabytes, minutes of ticks, for a reader that has stalled, before the
// socket reports anything; the ping is queued behind them.) A client that sends too fast is read more slowly.
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { BACKPRESSURE } from '../../../core/http/sockets/hub.ts'
import { assertNever } from '../../../core/values/outcome.ts'
import { unitRandom } from '../../../core/random.ts'
import type { Client } from '../engine/audience.ts'
import { textFrame } from '../engine/frame.ts'
import { Timed, type Wheel } from '../engine/wheel.ts'
import type { MessageLanguage } from '../errors.ts'

const PONG_WITHIN_MS = 5000 // also the interval between pings
// A ping counts as unanswered only after a second check, when everything that had arrived by the first one has been read: a
// busy server is not the client's fault.
const SECOND_CHECK_MS = 500
const TERMINATE_AFTER_MS = 1000
const MESSAGES_PER_SECOND = 200
const MESSAGES_AT_ONCE = 400

export interface SocketLimits {
  messagesMax: number
  bytesMax: number
}

export interface PlayerSocketOptions {
  id: number
  userId: number
  language: MessageLanguage
  socket: WebSocket
  /** The underlying connection. */
  tcp: Socket
  wheel: Wheel
  limits: SocketLimits
  /** The tick of the player's session. A ping carries it with a random number. */
  tickOf(): number | null
  onOffence(reason: 'queue' | 'ping'): void
}

export class PlayerSocket extends Timed implements Client {
  readonly id: number
  readonly userId: number
  readonly language: MessageLanguage
  readonly #socket: WebSocket
  readonly #tcp: Socket
  readonly #wheel: Wheel
  readonly #limits: SocketLimits
  readonly #options: PlayerSocketOptions
  /** Sizes of the frames that may still be queued, oldest first. */
  readonly #waiting: number[] = []
  #lastBytes = 0
  #ping: 'none' | 'sent' | 'overdue' = 'none'
  #pong = ''
  #isClosing = false
  #allowance = MESSAGES_AT_ONCE
  #allowedMs: number

  constructor(options: PlayerSocketOptions) {
    super()
    this.id = options.id
    this.userId = options.userId
    this.language = options.language
    this.#socket = options.socket
    this.#tcp = options.tcp
    this.#wheel = options.wheel
    this.#limits = options.limits
    this.#options = options
    this.#allowedMs = options.wheel.now()
    this.#socket.on('ping', () => this.count()) // `ws` answers each ping, and the client may not read the answers
    this.#socket.on('pong', (data) => {
      this.count()
      if (String(data) === this.#pong) this.#ping = 'none' // a client that reads nothing cannot know the number
    })
    this.#socket.once('close', () => (this.#isClosing = true))
    // Spread by connection number, so that connections opened together are not pinged together.
    options.wheel.addAt(this, this.#allowedMs + 1000 + ((options.id * 617) % (PONG_WITHIN_MS - 1000)))
  }

  get isClosing(): boolean {
    return this.#isClosing
  }

  send(text: string): void {
    this.sendFrame(textFrame(text))
  }

  sendFrame(frame: Buffer): void {
    if (this.#isClosing || !this.#tcp.writable) return
    const waitingBytes = this.#tcp.writableLength
    if (waitingBytes === 0) this.#waiting.length = 0
    else if (!this.#hasRoom(waitingBytes, frame.length)) return this.#offend('queue')
    this.#lastBytes = frame.length
    this.#tcp.write(frame)
  }

  close(code: number, reason: string): void {
    if (this.#isClosing) return
    this.#isClosing = true
    this.#socket.close(code, reason)
    const cutOff = setTimeout(() => this.#socket.terminate(), TERMINATE_AFTER_MS)
    this.#socket.once('close', () => clearTimeout(cutOff))
  }

  /** Called for each message. A flood is not refused: reading pauses until the rate is within the limit. */
  count(): void {
    const now = this.#wheel.now()
    this.#allowance = Math.min(
      MESSAGES_AT_ONCE,
      this.#allowance + ((now - this.#allowedMs) * MESSAGES_PER_SECOND) / 1000 - 1,
    )
    this.#allowedMs = now
    if (this.#allowance >= 0 || this.#socket.isPaused) return
    this.#socket.pause()
    this.#wheel.addAt(new Resuming(this.#socket), now + (-this.#allowance * 1000) / MESSAGES_PER_SECOND)
  }

  /** Sends a ping, or checks the last one. */
  override run(now: number): void {
    if (this.#isClosing) return
    switch (this.#ping) {
      case 'none':
        this.#ping = 'sent'
        this.#pong = `${this.#options.tickOf() ?? ''} ${unitRandom()}`
        this.#socket.ping(this.#pong)
        return this.#wheel.addAt(this, now + PONG_WITHIN_MS - SECOND_CHECK_MS)
      case 'sent':
        this.#ping = 'overdue'
        return this.#wheel.addAt(this, now + SECOND_CHECK_MS)
      case 'overdue':
        return this.#offend('ping')
      default:
        return assertNever(this.#ping)
    }
  }

  /** The kernel has accepted all but the last `waitingBytes`: the frames that these belong to are queued. */
  #hasRoom(waitingBytes: number, bytes: number): boolean {
    if (this.#waiting.length === 0) this.#waiting.push(this.#lastBytes)
    let sum = 0
    let count = 0
    while (sum < waitingBytes && count < this.#waiting.length) {
      count += 1
      sum += this.#waiting[this.#waiting.length - count] ?? 0
    }
    this.#waiting.splice(0, this.#waiting.length - count)
    if (count + 1 > this.#limits.messagesMax || waitingBytes + bytes > this.#limits.bytesMax) return false
    this.#waiting.push(bytes)
    return true
  }

  #offend(reason: 'queue' | 'ping'): void {
    this.#options.onOffence(reason)
    this.close(BACKPRESSURE.code, BACKPRESSURE.reason)
  }
}

class Resuming extends Timed {
  readonly #socket: WebSocket

  constructor(socket: WebSocket) {
    super()
    this.#socket = socket
  }

  override run(): void {
    this.#socket.resume()
  }
}
