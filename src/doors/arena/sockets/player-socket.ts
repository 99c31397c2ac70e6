// One WebSocket of a player. Frames are built elsewhere and written to the TCP connection directly, without a copy or a
// callback per message. Only what the kernel does not accept is queued. Usual inputs and pongs are read from the TCP
// connection (direct-reader.ts), with the same limits; `ws` reads everything else.
//
// A client that does not keep up is closed with 1008 `backpressure_exceeded`: when its queue exceeds the limit, or when it
// does not answer a ping in time. (The kernel buffers megabytes, minutes of ticks, for a reader that has stalled, before the
// socket reports anything; the ping is queued behind them.)
//
// A client that sends too fast is slowed. Its messages wait in a queue (paced-input.ts) while reading continues, so that its
// pongs are seen. Only a flood that would cost too much to parse pauses the connection; the pong is then behind what was not
// read, and has more time.
import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { closeSocket } from '../../../core/http/sockets/close-socket.ts'
import { BACKPRESSURE } from '../../../core/http/sockets/hub.ts'
import { assertNever } from '../../../core/values/outcome.ts'
import { unitRandom } from '../../../core/random.ts'
import type { Client } from '../engine/audience.ts'
import { pingFrame, textFrame } from '../engine/frame.ts'
import type { PlayerInput, VisibleSession } from '../engine/session.ts'
import { Timed, type Wheel } from '../engine/wheel.ts'
import type { MessageLanguage } from '../errors.ts'
import { errorText } from '../wire.ts'
import { readDirectly, textOf, type FrameTaker, type MaskedPayload } from './direct-reader.ts'
import { Allowance, PacedInput, type Incoming } from './paced-input.ts'
import { UsualInputReader } from './usual-input.ts'

const PONG_WITHIN_MS = 5000 // also the interval between pings
// A ping counts as unanswered only after a second check, when everything that had arrived by the first one has been read: a
// busy server is not the client's fault.
const SECOND_CHECK_MS = 500
/** For a client whose connection had to be paused. */
const PONG_WITHIN_FLOOD_MS = 20_000
/** Frames that are read, whether they are handled or dropped. */
const FRAMES = { perSecond: 5000, atOnce: 10_000 } as const
/** A ping counts as that many frames: `ws` writes an answer, which the client may not read. */
const PING_COST = 25
const REFUSE_EVERY_MS = 100

/** Messages are read one at a time. */
const USUAL_INPUTS = new UsualInputReader()

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
  /** The player's session. A ping carries its tick with a random number. */
  sessionOf(): VisibleSession | null
  onMessage(message: Incoming): void
  /** A message that is an input of the player's session. */
  onInput(session: VisibleSession, seq: number, input: PlayerInput): void
  onOffence(reason: 'queue' | 'ping'): void
}

export class PlayerSocket extends Timed implements Client, FrameTaker {
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
  #pingedMs = 0
  /** Reading was paused since the last ping. */
  #wasPaused = false
  #isClosing = false
  #onClosing: () => void = () => {}
  #refusedMs = -Infinity
  readonly #frames: Allowance
  readonly #input: PacedInput

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
    const now = options.wheel.now()
    this.#frames = new Allowance(FRAMES, now)
    this.#input = new PacedInput({ wheel: options.wheel, handle: (message) => options.onMessage(message) })
    this.#listen()
    readDirectly(options.tcp, this)
    // Spread by connection number, so that connections opened together are not pinged together.
    options.wheel.addLoosely(this, now + 1000 + ((options.id * 617) % (PONG_WITHIN_MS - 1000)))
  }

  #listen(): void {
    this.#socket.on('message', (data, isBinary) => this.#receive(isBinary || !Buffer.isBuffer(data) ? null : data))
    this.#socket.on('ping', () => this.#count(PING_COST))
    this.#socket.on('pong', (data) => this.#receivePong(data.toString('latin1')))
    this.#socket.once('close', () => this.#beginClosing())
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
    if (waitingBytes > 0) {
      if (!this.#hasRoom(waitingBytes, frame.length)) return this.#offend('queue')
    } else if (this.#waiting.length > 0) {
      this.#waiting.length = 0
    }
    this.#lastBytes = frame.length
    this.#tcp.write(frame)
  }

  close(code: number, reason: string): void {
    if (this.#isClosing) return
    closeSocket(this.#socket, { code, reason })
    this.#beginClosing()
  }

  /** Called once, when either side begins to close; at once if that has happened. */
  onClosing(listener: () => void): void {
    if (this.#isClosing) listener()
    else this.#onClosing = listener
  }

  #beginClosing(): void {
    if (this.#isClosing) return
    this.#isClosing = true
    this.#input.stop()
    this.#onClosing()
  }

  takeText(payload: MaskedPayload): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return false
    const session = this.#options.sessionOf()
    if (session === null) return false
    const now = this.#wheel.now()
    if (!this.#frames.has(now) || !this.#input.isFree(now)) return false
    const input = USUAL_INPUTS.read(payload, session.sessionId)
    if (input === null) return false
    this.#frames.spend(1)
    this.#input.spend()
    this.#options.onInput(session, input.seq, input)
    return true
  }

  takePong(payload: MaskedPayload): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN || !this.#frames.has(this.#wheel.now())) return false
    this.#receivePong(textOf(payload))
    return true
  }

  #receivePong(text: string): void {
    this.#count(1)
    if (text === this.#pong) this.#ping = 'none' // a client that reads nothing cannot know the number
  }

  #receive(message: Incoming): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return
    const now = this.#count(1)
    if (this.#input.take(message) || now - this.#refusedMs < REFUSE_EVERY_MS) return
    this.#refusedMs = now
    this.send(errorText('too_fast', this.language))
  }

  /** A flood is read no faster than FRAMES. */
  #count(cost: number): number {
    const now = this.#wheel.now()
    const isWithin = this.#frames.has(now)
    this.#frames.spend(cost)
    if (isWithin || this.#socket.isPaused) return now
    this.#wasPaused = true
    this.#socket.pause()
    this.#wheel.addAt(new Resuming(this.#socket), now + this.#frames.debtMs)
    return now
  }

  /** Sends a ping, or checks the last one. */
  override run(now: number): void {
    if (this.#isClosing) return
    switch (this.#ping) {
      case 'none':
        this.#ping = 'sent'
        this.#pingedMs = now
        this.#wasPaused = this.#socket.isPaused
        this.#pong = `${this.#options.sessionOf()?.tick ?? ''} ${unitRandom()}`
        if (this.#tcp.writable) this.#tcp.write(pingFrame(this.#pong))
        return this.#wheel.addLoosely(this, now + PONG_WITHIN_MS - SECOND_CHECK_MS)
      case 'sent':
        this.#ping = 'overdue'
        return this.#wheel.addLoosely(this, now + SECOND_CHECK_MS)
      case 'overdue':
        if (this.#wasPaused && now - this.#pingedMs < PONG_WITHIN_FLOOD_MS)
          return this.#wheel.addLoosely(this, now + SECOND_CHECK_MS)
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
