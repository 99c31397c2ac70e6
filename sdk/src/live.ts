// /live: one WebSocket for everything that a program or page watches. A lost connection is opened again, and every topic is
// followed again after the last id that was seen. The server sends something every five seconds: silence is a lost
// connection, which a browser would notice minutes later.
import type { SocketConstructor, SocketLike } from './arena/socket.ts'

const BEARER_PROTOCOL = 'reeve.bearer'
const RETRY_BASE_MS = 250
const RETRY_MAX_MS = 5000
const SILENCE_MAX_MS = 12_000
const CLOSED_BY_US = 1000
const UNAUTHORIZED = 'unauthorized'

/** `ended`: the session is over (signed out, expired, closed account), or `close` was called. */
export type LiveState = 'connecting' | 'live' | 'reconnecting' | 'ended'

export interface LiveMessage {
  type: string
  payload: unknown
  /** To follow on after this message; undefined where the topic has no log. */
  id?: number
}

export interface LiveWatch {
  topic: string
  /** A function is called whenever the topic is followed, also after a lost connection. */
  params?: unknown
  /** Only what comes after this id. */
  since?: number
  onMessage(message: LiveMessage): void
  /** `forbidden`, `not_found`, `invalid_params`, … */
  onRefused?(code: string): void
}

export interface LiveOptions {
  url: string
  /** Without it the session cookie of the page is used. */
  token?: string
  /** Default: the global one. */
  WebSocket?: SocketConstructor
}

export class LiveClient {
  readonly #options: LiveOptions
  readonly #watches = new Map<string, LiveWatch>()
  readonly #listeners = new Set<(state: LiveState) => void>()
  #state: LiveState = 'connecting'
  #socket: SocketLike | null = null
  #names = 0
  #tries = 0
  /** When the last message arrived, in milliseconds since 1970. */
  #heardAt = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: LiveOptions) {
    this.#options = options
  }

  get state(): LiveState {
    return this.#state
  }

  /** The time up to which the data is known to be current. */
  get heardAt(): number {
    return this.#heardAt
  }

  /** Returns a function that ends it. */
  onState(listener: (state: LiveState) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  open(): void {
    if (this.#socket === null && this.#state !== 'ended') this.#connect()
  }

  /** Begins to watch. Returns a function that ends it. */
  follow(watch: LiveWatch): () => void {
    this.#names += 1
    const name = String(this.#names)
    this.#watches.set(name, { ...watch })
    this.open()
    this.#sendFollow(name)
    return () => {
      this.#watches.delete(name)
      if (this.#state === 'live') this.#send({ unfollow: name })
    }
  }

  /** Tries at once instead of waiting for the next try. */
  retry(): void {
    if (this.#state !== 'reconnecting' || this.#socket !== null) return
    clearTimeout(this.#timer)
    this.#connect()
  }

  close(): void {
    this.#become('ended')
    clearTimeout(this.#timer)
    const socket = this.#socket
    this.#socket = null // what still arrives on it is nobody's
    socket?.close(CLOSED_BY_US)
  }

  #connect(): void {
    const { url, token } = this.#options
    const Socket: SocketConstructor = this.#options.WebSocket ?? globalThis.WebSocket
    const protocols = token === undefined ? [] : [BEARER_PROTOCOL, token]
    const socket = new Socket(`${url.replace(/^http/, 'ws').replace(/\/$/, '')}/live`, protocols)
    this.#socket = socket
    this.#expect(socket)
    socket.addEventListener('error', () => {}) // a close follows
    socket.addEventListener('close', ({ reason }) => this.#lost(socket, reason))
    socket.addEventListener('message', ({ data }) => {
      if (this.#socket !== socket) return
      this.#heardAt = Date.now()
      this.#expect(socket)
      if (this.#state !== 'live') this.#opened()
      this.#hear(data)
    })
  }

  #opened(): void {
    this.#tries = 0
    this.#become('live')
    for (const name of this.#watches.keys()) this.#sendFollow(name)
  }

  #hear(data: unknown): void {
    const message = parse(data)
    const name = message['follow']
    const watch = typeof name === 'string' ? this.#watches.get(name) : undefined
    if (watch === undefined) return
    const { type, payload, id, error } = message
    if (typeof id === 'number') watch.since = id
    if (typeof error === 'string') watch.onRefused?.(error)
    else if (typeof type === 'string') watch.onMessage({ type, payload, ...(typeof id === 'number' ? { id } : {}) })
  }

  #lost(socket: SocketLike, reason: string): void {
    if (this.#socket !== socket) return
    this.#socket = null
    clearTimeout(this.#timer)
    if (this.#state === 'ended') return
    if (reason === UNAUTHORIZED) {
      this.#become('ended')
      return
    }
    this.#become('reconnecting')
    this.#tries += 1
    const waitMs = Math.min(RETRY_MAX_MS, RETRY_BASE_MS * 2 ** (this.#tries - 1)) * (0.5 + Math.random() / 2)
    this.#timer = setTimeout(() => this.#connect(), waitMs)
  }

  /** Gives the connection up if nothing arrives for too long. */
  #expect(socket: SocketLike): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      socket.close()
      this.#lost(socket, 'silence')
    }, SILENCE_MAX_MS)
  }

  #sendFollow(name: string): void {
    const watch = this.#watches.get(name)
    if (watch === undefined || this.#state !== 'live') return
    const { topic, params, since } = watch
    this.#send({ follow: name, topic, params: typeof params === 'function' ? params() : params, since })
  }

  #send(message: object): void {
    this.#socket?.send(JSON.stringify(message))
  }

  #become(state: LiveState): void {
    if (this.#state === state) return
    this.#state = state
    for (const listener of this.#listeners) listener(state)
  }
}

function parse(data: unknown): Record<string, unknown> {
  const value: unknown = JSON.parse(String(data))
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
