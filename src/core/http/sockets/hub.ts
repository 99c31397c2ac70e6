// WebSocket connections, each with a bounded queue of what the kernel has not accepted. A client that stops reading is closed
// with 1008 `backpressure_exceeded`: when its queue exceeds the limit, when an event finds no room for some time, or when a
// ping is not answered (the kernel buffers megabytes for a stalled reader before the socket reports anything). No queue is
// shared, so that a slow reader never delays another.
//
// When the whole process has stood still, timers are due before anything is read: a turn of the event loop passes first, so that
// answers which have come already count.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import { closeSocket } from './close-socket.ts'
import { Wake, type Loop } from '../../loop.ts'

export const BACKPRESSURE = { code: 1008, reason: 'backpressure_exceeded' } as const
export const STOPPING = { code: 1001, reason: 'server_stopping' } as const

const LOOK_EVERY_MS = 1000

export interface HubLimits {
  messagesMax: number
  bytesMax: number
  /** How long an event may wait for room in the queue. */
  roomWithinMs: number
  pingEveryMs: number
  pongWithinMs: number
}

export const HUB_TIMES = { roomWithinMs: 5000, pingEveryMs: 15_000, pongWithinMs: 5000 } as const

export interface Connection {
  /** False: the connection is closed, or this message exceeds the limit and closes it. A single message always fits. */
  send(message: string): boolean
  /** Resolves when the queue has room, to false if the connection closed instead. For senders that can wait. */
  room(): Promise<boolean>
  close(code: number, reason: string): void
  /** Called once; immediately if the connection is already closed. */
  onClose(listener: () => void): void
}

export interface Hub {
  attach(socket: WebSocket): Connection
  size(): number
  /** Pings the connections, and closes those that do not answer. */
  loop: Loop
  /** Closes all connections and terminates those that do not answer. */
  closeAll(): void
}

export function openHub(limits: HubLimits): Hub {
  const connections = new Set<HubConnection>()

  return {
    attach(socket) {
      const connection = new HubConnection(socket, limits)
      connections.add(connection)
      connection.onClose(() => connections.delete(connection))
      return connection
    },
    size: () => connections.size,
    loop: {
      name: 'ping-websockets',
      everyMs: LOOK_EVERY_MS,
      async runOnce() {
        await nextTurn()
        for (const connection of connections) connection.look(performance.now())
        return false
      },
    },
    closeAll: () => {
      for (const connection of connections) connection.close(STOPPING.code, STOPPING.reason)
    },
  }
}

class HubConnection implements Connection {
  readonly #socket: WebSocket
  readonly #limits: HubLimits
  readonly #closeListeners: (() => void)[] = []
  readonly #flush = new Wake()
  #sent = 0
  #flushed = 0
  #pingedAt: number
  #awaitsPong = false
  #closed = false
  #closing = false

  constructor(socket: WebSocket, limits: HubLimits) {
    this.#socket = socket
    this.#limits = limits
    this.#pingedAt = performance.now()
    socket.on('pong', () => (this.#awaitsPong = false))
    // `ws` answers each ping, and the client may not read the answers.
    socket.on('ping', () => {
      if (socket.bufferedAmount > limits.bytesMax) this.close(BACKPRESSURE.code, BACKPRESSURE.reason)
    })
    socket.once('close', () => this.#ended())
    if (socket.readyState === socket.CLOSED) this.#ended()
  }

  send(message: string): boolean {
    if (this.#closing || this.#closed) return false
    if (!this.#fits(Buffer.byteLength(message))) {
      this.close(BACKPRESSURE.code, BACKPRESSURE.reason)
      return false
    }
    this.#sent += 1
    const number = this.#sent
    this.#socket.send(message, () => {
      this.#flushed = Math.max(this.#flushed, number)
      this.#flush.ring()
    })
    return true
  }

  async room(): Promise<boolean> {
    const deadline = performance.now() + this.#limits.roomWithinMs
    while (!this.#closing && !this.#closed && !this.#fits(1)) {
      const leftMs = deadline - performance.now()
      if (leftMs > 0) {
        await this.#flush.wait(leftMs)
        continue
      }
      await nextTurn()
      if (!this.#fits(1)) this.close(BACKPRESSURE.code, BACKPRESSURE.reason)
    }
    return !this.#closing && !this.#closed
  }

  close(code: number, reason: string): void {
    if (this.#closing || this.#closed) return
    this.#closing = true
    this.#flush.ring()
    closeSocket(this.#socket, { code, reason })
  }

  onClose(listener: () => void): void {
    if (this.#closed) listener()
    else this.#closeListeners.push(listener)
  }

  look(now: number): void {
    if (this.#closing) return
    const sinceMs = now - this.#pingedAt
    if (this.#awaitsPong && sinceMs > this.#limits.pongWithinMs) {
      this.close(BACKPRESSURE.code, BACKPRESSURE.reason)
    } else if (!this.#awaitsPong && sinceMs >= this.#limits.pingEveryMs) {
      this.#pingedAt = now
      this.#awaitsPong = true
      this.#socket.ping()
    }
  }

  /** The callback of a completed write comes a turn later, so that the buffer is checked instead. */
  #fits(bytes: number): boolean {
    const waitingBytes = this.#socket.bufferedAmount
    if (waitingBytes === 0) this.#flushed = this.#sent
    const waiting = this.#sent - this.#flushed
    if (waiting === 0) return true
    return waiting + 1 <= this.#limits.messagesMax && waitingBytes + bytes <= this.#limits.bytesMax
  }

  #ended(): void {
    this.#closed = true
    this.#flush.ring()
    for (const listener of this.#closeListeners.splice(0)) listener()
  }
}
