// The WebSocket of a player: it connects, and connects again when the connection is lost, with a resync of what was missed.
// The platform's WebSocket serves, or one that is given (`ws` on Node 20): the token goes as a subprotocol, which all of
// them can send.
import { ArenaConnectionError, ArenaError, type Envelope, type Snapshot } from './wire.ts'

const BEARER_PROTOCOL = 'reeve.bearer'
const RETRY_BASE_MS = 250
const RETRY_MAX_MS = 5000
const ANSWER_WITHIN_MS = 10_000
const CLOSED_BY_US = 1000
// A connection may be lost silently. A client that hears nothing sends a request, and closes the connection if no answer comes.
const LISTEN_EVERY_MS = 1000
const ASK_AFTER_MS = 3000
const LOST_AFTER_MS = 7000
const CONNECT_WITHIN_MS = 20_000
const TRIES_MAX = 100 // some eight minutes: the token may be good no more

export interface SocketLike {
  send(data: string): void
  close(code?: number, reason?: string): void
  addEventListener(type: 'open' | 'error', listener: () => void): void
  addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void
  addEventListener(type: 'close', listener: (event: { code: number; reason: string }) => void): void
}

export type SocketConstructor = new (
  url: string,
  protocols: string[],
  /** Only with an API key. */
  options?: { headers: Record<string, string> },
) => SocketLike

export interface AuthState {
  userId: number
  username: string
  resumeToken: string
  snapshotVersion: number
}

export interface ArenaSocketOptions {
  /** Of the server, http or https. */
  url: string
  /** Neither token nor key: the browser sends the cookie of its session. */
  token: string | undefined
  apiKey: string | undefined
  WebSocket: SocketConstructor
  onEvent(event: string, p: unknown): void
  /** An error that answers no request. */
  onError(error: ArenaError): void
  /** The connection is back; this is the current state. */
  onResync(snapshot: Snapshot): void
  onConnection(state: 'open' | 'lost' | 'closed'): void
}

interface Asked {
  resolve(p: unknown): void
  reject(error: Error): void
  late: ReturnType<typeof setTimeout>
}

export class ArenaSocket {
  readonly #options: ArenaSocketOptions
  readonly #asked = new Map<number, Asked>()
  #socket: SocketLike | null = null
  /** The newest connection, also before the server has authenticated the player. */
  #dialed: SocketLike | null = null
  #opening: Promise<AuthState> | null = null
  #resumeToken: string | null = null
  #seq = 0
  #tries = 0
  #isClosed = false

  constructor(options: ArenaSocketOptions) {
    this.#options = options
  }

  /** Resolves when the server has authenticated the player. The first failure rejects; later ones are retried. */
  open(): Promise<AuthState> {
    this.#opening ??= this.#connect()
    return this.#opening
  }

  send(event: string, p: object): void {
    this.#socket?.send(JSON.stringify({ t: 'event', seq: 0, event, p }))
  }

  /** Sends a message and resolves with its answer. */
  ask(event: string, p: object): Promise<unknown> {
    const socket = this.#socket
    if (socket === null) return Promise.reject(new ArenaConnectionError('The connection is lost.'))
    this.#seq += 1
    const seq = this.#seq
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#asked.delete(seq)
        reject(new ArenaConnectionError(`No answer to ${event}.`))
      }, ANSWER_WITHIN_MS)
      this.#asked.set(seq, { resolve, reject, late })
      socket.send(JSON.stringify({ t: 'event', seq, event, p }))
    })
  }

  close(): void {
    this.#isClosed = true
    this.#dialed?.close(CLOSED_BY_US, 'bye')
  }

  #newSocket(): SocketLike {
    const { url, token, apiKey, WebSocket } = this.#options
    const at = `${url.replace(/^http/, 'ws').replace(/\/$/, '')}/ws`
    if (token === undefined && apiKey !== undefined) return new WebSocket(at, [], { headers: { 'x-api-key': apiKey } })
    return new WebSocket(at, protocolsOf(token))
  }

  #connect(): Promise<AuthState> {
    const socket = this.#newSocket()
    this.#dialed = socket
    return new Promise((resolve, reject) => {
      let isIn = false
      const listening = this.#listen(socket)
      socket.addEventListener('error', () => {}) // a close follows
      socket.addEventListener('message', ({ data }) => {
        if (!listening.heard()) return
        const message = parseEnvelope(data)
        if (message === null) return
        if (message.event === 'auth_state' && isAuthState(message.p)) {
          isIn = true
          this.#socket = socket
          this.#tries = 0
          const state = message.p
          void this.#welcome(state).then(() => resolve(state))
        } else {
          this.#hear(message)
        }
      })
      const onClose = ({ code, reason }: { code: number; reason: string }) => {
        if (!listening.stop()) return
        if (!isIn) reject(new ArenaConnectionError(reason === '' ? `The server cannot be reached (${code}).` : reason))
        this.#lost(socket, isIn)
      }
      socket.addEventListener('close', onClose)
      listening.onSilence(() => {
        onClose({ code: 1006, reason: '' })
        socket.close()
      })
    })
  }

  /** Watches for a silent connection. `stop` returns false if it was stopped before. */
  #listen(socket: SocketLike) {
    let heardAt = Date.now()
    let isStopped = false
    let onSilence = () => {}
    const timer = setInterval(() => {
      const silentMs = Date.now() - heardAt
      const isIn = this.#socket === socket
      if (silentMs > (isIn ? LOST_AFTER_MS : CONNECT_WITHIN_MS)) onSilence()
      else if (silentMs > ASK_AFTER_MS && isIn) this.ask('echo', { message: '' }).catch(() => {})
    }, LISTEN_EVERY_MS)
    return {
      /** False: the connection was given up. */
      heard(): boolean {
        heardAt = Date.now()
        return !isStopped
      },
      onSilence: (listener: () => void) => void (onSilence = listener),
      stop(): boolean {
        if (isStopped) return false
        isStopped = true
        clearInterval(timer)
        return true
      },
    }
  }

  /** With the resume token of the last connection, if there is one: the answer contains what was missed. */
  async #welcome({ resumeToken }: AuthState): Promise<void> {
    const before = this.#resumeToken
    this.#resumeToken = resumeToken
    this.#options.onConnection('open')
    try {
      await this.#resync(before ?? resumeToken)
    } catch (error) {
      const isUsed = error instanceof ArenaError && before !== null
      if (isUsed) await this.#resync(resumeToken).catch(() => {}) // lost again: the next connection tries it
    }
  }

  async #resync(token: string): Promise<void> {
    const answer = await this.ask('resync_request', { resumeToken: token })
    if (!isResynced(answer)) return
    this.#resumeToken = answer.resumeToken
    this.#options.onResync(answer.snapshot)
  }

  #hear({ t, seq, event, p }: Envelope): void {
    const asked = this.#asked.get(seq)
    if (asked !== undefined) {
      this.#asked.delete(seq)
      clearTimeout(asked.late)
    }
    if (t === 'error') {
      const error = errorFrom(p)
      if (asked === undefined) this.#options.onError(error)
      else asked.reject(error)
    } else if (asked !== undefined) {
      asked.resolve(p)
    } else if (event !== null) {
      this.#options.onEvent(event, p)
    }
  }

  #lost(socket: SocketLike, wasIn: boolean): void {
    if (this.#socket === socket) this.#socket = null
    for (const { reject, late } of this.#asked.values()) {
      clearTimeout(late)
      reject(new ArenaConnectionError('The connection was lost.'))
    }
    this.#asked.clear()
    if (this.#isClosed || this.#tries >= TRIES_MAX) return this.#options.onConnection('closed')
    if (wasIn) this.#options.onConnection('lost')
    if (!wasIn && this.#resumeToken === null) return // never was in: whoever opened it has been told
    const waitMs = Math.min(RETRY_MAX_MS, RETRY_BASE_MS * 2 ** this.#tries) * (0.5 + Math.random())
    this.#tries += 1
    setTimeout(() => {
      if (!this.#isClosed) this.#connect().catch(() => {}) // it tries again by itself
    }, waitMs)
  }
}

const protocolsOf = (token: string | undefined): string[] => (token === undefined ? [] : [BEARER_PROTOCOL, token])

function parseEnvelope(data: unknown): Envelope | null {
  const value: unknown = typeof data === 'string' ? JSON.parse(data) : null
  return isEnvelope(value) ? value : null
}

const isEnvelope = (value: unknown): value is Envelope =>
  isObject(value) && (value['t'] === 'event' || value['t'] === 'error') && typeof value['seq'] === 'number'

const isAuthState = (p: unknown): p is AuthState => isObject(p) && typeof p['resumeToken'] === 'string'

const isResynced = (p: unknown): p is { resumeToken: string; snapshot: Snapshot } =>
  isObject(p) && typeof p['resumeToken'] === 'string' && isObject(p['snapshot'])

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function errorFrom(p: unknown): ArenaError {
  const { code, message } = isObject(p) ? p : {}
  return new ArenaError(String(code), String(message))
}
