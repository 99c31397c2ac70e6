// Real servers on a database of their own, spoken to over HTTP and WebSocket only, as the contract's clients do.
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import type { TestContext } from 'node:test'
import { WebSocket } from 'ws'
import { newAccount, startReeve, tokenOf, type ReeveOptions } from '../../support/reeve.ts'

export { urlOf } from '../../support/reeve.ts'

/** A match that is over before anyone has to wait for it: ten ticks of 20 ms. */
export const QUICK = { SESSION_TICK_INTERVAL_MS: '20', SESSION_TICKS: '10' }
/** A match that is not over before its test is, however busy the machine. */
export const LONG = { SESSION_TICKS: '6000' }

export type ServerOptions = Pick<ReeveOptions, 'env' | 'on' | 'role'>

export const startServer = (t: TestContext, options: ServerOptions = {}) =>
  startReeve(t, { doors: 'arena', ...options })

export interface Answer {
  status: number
  headers: Headers
  // What a contract's client sees: whatever the server sent.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any
}

export async function ask(
  url: string,
  path: string,
  options: { method?: string; token?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const { token, body, headers = {} } = options
  const response = await fetch(`${url}${path}`, {
    method: options.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { status: response.status, headers: response.headers, body: JSON.parse(await response.text()) }
}

export interface Player {
  userId: number
  username: string
  token: string
}

export async function player(url: string, username: string): Promise<Player> {
  const { accountId: userId, token } = await newAccount(url, username)
  return { userId, username, token }
}

export async function login(url: string, username: string): Promise<Player> {
  const { accountId: userId, token } = await tokenOf(url, username)
  return { userId, username, token }
}

/** Longer than a slow machine takes to bring the other one. */
const PATIENT = { mode: 'normal', timeoutSeconds: 600 }

export const join = (url: string, { token }: { token: string }, body: unknown = PATIENT) =>
  ask(url, '/api/queue/join', { token, body })

// oxlint-disable-next-line typescript/no-explicit-any
export type Message = { t: string; seq: number; event: string | null; p: any }

/** Only so that a test ends that waits for what never comes. */
const PATIENCE_MS = 60_000

/** A WebSocket that remembers what it was told. */
export class Line {
  readonly socket: WebSocket
  readonly messages: Message[] = []
  readonly closed: Promise<{ code: number; reason: string }>
  readonly #changes = new EventEmitter()

  constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('message', (data) => {
      this.messages.push(JSON.parse(String(data)))
      this.#changes.emit('change')
    })
    socket.on('error', () => {})
    this.closed = new Promise((resolve) => {
      socket.once('close', (code, reason) => resolve({ code, reason: String(reason) }))
    })
  }

  /** The first message that fits and that has not been taken before. */
  async next(fits: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const index = this.messages.findIndex(fits)
      const [found] = index === -1 ? [] : this.messages.splice(index, 1)
      if (found !== undefined) return found
      await this.#change()
    }
  }

  /** A connection is open before its player is let in, and hears nothing of what happens in between. */
  async letIn(): Promise<void> {
    while (!this.messages.some(({ event }) => event === 'auth_state')) await this.#change()
  }

  async #change(): Promise<void> {
    try {
      await once(this.#changes, 'change', { signal: AbortSignal.timeout(PATIENCE_MS) })
    } catch {
      assert.fail(`No such message came. There are: ${JSON.stringify(this.messages.slice(-5))}`)
    }
  }

  event(name: string): Promise<Message> {
    return this.next(({ event }) => event === name)
  }

  error(code?: string): Promise<Message> {
    return this.next(({ t, p }) => t === 'error' && (code === undefined || p.code === code))
  }

  send(event: string, p: unknown, seq?: number): void {
    this.socket.send(JSON.stringify({ t: 'event', ...(seq === undefined ? {} : { seq }), event, p }))
  }
}

export async function connect(
  t: TestContext,
  url: string,
  { token }: { token: string },
  headers: Record<string, string> = {},
): Promise<Line> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
  })
  t.after(() => socket.terminate())
  const line = new Line(socket)
  await once(socket, 'open')
  await line.letIn()
  return line
}

/** Two players of a match that has begun. */
export async function matched(t: TestContext, url: string, names: readonly [string, string] = ['ann', 'bob']) {
  const ann = await player(url, names[0])
  const bob = await player(url, names[1])
  const annLine = await connect(t, url, ann)
  const bobLine = await connect(t, url, bob)
  assert.equal((await join(url, ann)).status, 200)
  assert.equal((await join(url, bob)).status, 200)
  const created = await annLine.event('session.created')
  const started = await annLine.event('session.started')
  return { ann, bob, annLine, bobLine, created, started, sessionId: String(created.p.sessionId) }
}
