// The arena's client, for Node and browsers.
//
//   const arena = await ArenaClient.login({ url, username, password })      // on Node 20: { …, WebSocket } of `ws`
//   const session = await arena.play()                                      // waits for an opponent
//   session.onState(({ tick }) => session.move(1))
//   console.log(await session.ended)
//
// A lost connection is opened again, and what was missed is delivered.
import { ArenaSession, type SomeView } from './session.ts'
import { ArenaSocket, isObject, type AuthState, type SocketConstructor } from './socket.ts'
import type {
  ArenaError,
  ArenaMode,
  ArenaProfile,
  FoundPlayer,
  Joined,
  Leaderboard,
  LiveMatch,
  Match,
  MatchWithReplay,
  PublicProfile,
  RatingChange,
  RematchWanted,
  SessionEnded,
  SessionState,
  SessionView,
  Snapshot,
} from './wire.ts'
import { ReeveClient } from '../client.ts'
import { ReeveError } from '../error.ts'

export { ArenaSession, type PresenceChange } from './session.ts'
export type { AuthState, SocketConstructor, SocketLike } from './socket.ts'
export * from './wire.ts'
export * from './replay.ts'

export interface ArenaOptions {
  /** Where the server is, for example http://127.0.0.1:8080. */
  url: string
  /** Token of a login. Without it, a page of the same origin uses its session cookie. */
  token?: string
  /** API key of a program, instead of a token. Needs a WebSocket that can send headers: that of the package `ws`. */
  apiKey?: string
  /** Default: the global one. Node 20 has none: pass that of the package `ws`. */
  WebSocket?: SocketConstructor
  /** Default: the global one. */
  fetch?: typeof fetch
}

export interface Credentials {
  username: string
  password: string
  /** Register the account first if the name is free. */
  register?: boolean
}

export interface Join {
  mode?: ArenaMode
  /** Of mode private: two who give the same code play each other. */
  code?: string
  timeoutSeconds?: number
}

export interface ArenaEvents {
  session: ArenaSession
  connection: 'open' | 'lost' | 'closed'
  /** After every connect: whether the player waits in the queue. Null: no. */
  queue: Snapshot['queue'] | null
  /** The opponent of a match that has ended wants another. */
  rematch: RematchWanted
  error: ArenaError
}

type Listeners = { [Name in keyof ArenaEvents]: Set<(value: ArenaEvents[Name]) => void> }

export class ArenaClient {
  readonly #http: ReeveClient
  readonly #socket: ArenaSocket
  readonly #sessions = new Map<string, ArenaSession>()
  readonly #created = new Map<string, Pick<SessionView, 'createdAt' | 'participants'>>()
  readonly #listeners: Listeners = {
    session: new Set(),
    connection: new Set(),
    queue: new Set(),
    rematch: new Set(),
    error: new Set(),
  }
  #userId = 0
  #current: ArenaSession | null = null

  constructor({ url, token, apiKey, WebSocket = platformWebSocket(), fetch }: ArenaOptions) {
    this.#http = new ReeveClient({
      url,
      ...(token !== undefined ? { token } : apiKey !== undefined ? { apiKey } : { cookie: true }),
      ...(fetch === undefined ? {} : { fetch }),
    })
    this.#socket = new ArenaSocket({
      url,
      token,
      apiKey,
      WebSocket,
      onEvent: (event, p) => this.#hear(event, p),
      onError: (error) => this.#emit('error', error),
      onResync: (snapshot) => void this.#resynced(snapshot),
      onConnection: (state) => this.#emit('connection', state),
    })
  }

  static async login(options: Omit<ArenaOptions, 'token' | 'apiKey'> & Credentials): Promise<ArenaClient> {
    const { username, password, register = false, ...rest } = options
    const http = new ReeveClient({ url: rest.url, ...(rest.fetch === undefined ? {} : { fetch: rest.fetch }) })
    const body = { username, password }
    if (register) await http.request('POST', '/api/auth/register', { body }).catch(ignoreTaken)
    const { data } = await http.request<{ data: { token: string } }>('POST', '/api/auth/login', { body })
    return new ArenaClient({ ...rest, token: data.token })
  }

  /** As a new guest, who has no password and no rating. */
  static async guest(options: Omit<ArenaOptions, 'token' | 'apiKey'>): Promise<ArenaClient> {
    const { url, fetch } = options
    const http = new ReeveClient({ url, ...(fetch === undefined ? {} : { fetch }) })
    const { data } = await http.request<{ data: { token: string } }>('POST', '/api/auth/guest', { body: {} })
    return new ArenaClient({ ...options, token: data.token })
  }

  /** The session that the player is in; null: none. */
  get session(): ArenaSession | null {
    return this.#current
  }

  async connect(): Promise<AuthState> {
    const state = await this.#socket.open()
    this.#userId = state.userId
    return state
  }

  /** Waits in the queue for an opponent, and resolves when the match has begun. Rejects with `queue_timeout`. */
  async play(join: Join = {}): Promise<ArenaSession> {
    await this.connect()
    const begun = this.#nextSession()
    try {
      await this.join(join)
    } catch (error) {
      begun.cancel()
      throw error
    }
    return begun.session
  }

  close(): void {
    this.#socket.close()
  }

  /** Returns a function that stops listening. */
  on<Name extends keyof ArenaEvents>(name: Name, listener: (value: ArenaEvents[Name]) => void): () => void {
    this.#listeners[name].add(listener)
    return () => this.#listeners[name].delete(listener)
  }

  async echo(message: string): Promise<string> {
    const answer = await this.#socket.ask('echo', { message })
    return isObject(answer) ? String(answer['message']) : ''
  }

  /** Follows a match of others. */
  async watch(sessionId: string): Promise<ArenaSession> {
    await this.connect()
    const view = await this.#socket.ask('session.watch', { sessionId })
    if (!isView(view)) throw new Error('The server sent no session.')
    return this.#sessions.get(sessionId) ?? this.#open(view)
  }

  /** Its `ended` never resolves. */
  async unwatch(sessionId: string): Promise<void> {
    this.#sessions.delete(sessionId)
    await this.#socket.ask('session.unwatch', { sessionId })
  }

  join({ mode = 'normal', code, timeoutSeconds }: Join = {}): Promise<Joined> {
    const body = {
      mode,
      ...(code === undefined ? {} : { code }),
      ...(timeoutSeconds === undefined ? {} : { timeoutSeconds }),
    }
    return this.#ask('POST', '/api/queue/join', { body })
  }

  cancel(): Promise<{ canceled: true }> {
    return this.#ask('POST', '/api/queue/cancel')
  }

  profile(): Promise<ArenaProfile> {
    return this.#ask('GET', '/api/profile')
  }

  /** A profile with its rank. Default: your own. */
  async player(userId?: number): Promise<PublicProfile> {
    return this.#ask('GET', `/api/players/${userId ?? (await this.profile()).userId}`)
  }

  /** Players of the leaderboard whose name begins so. */
  async findPlayers(name: string): Promise<FoundPlayer[]> {
    const { players } = await this.#ask<{ players: FoundPlayer[] }>('GET', '/api/players', { query: { name } })
    return players
  }

  leaderboard(query: { page?: number; size?: number } = {}): Promise<Leaderboard> {
    return this.#ask('GET', '/api/leaderboard', { query: { ...query } })
  }

  match(matchId: string): Promise<MatchWithReplay> {
    return this.#ask('GET', `/api/matches/${encodeURIComponent(matchId)}`)
  }

  matches(
    query: { userId?: number; before?: string; size?: number } = {},
  ): Promise<{ matches: Match[]; nextBefore: string | null }> {
    return this.#ask('GET', '/api/matches', { query: { ...query } })
  }

  liveMatches(): Promise<{ matches: LiveMatch[] }> {
    return this.#ask('GET', '/api/matches/live')
  }

  ratings(
    query: { userId?: number; before?: number; size?: number } = {},
  ): Promise<{ ratings: RatingChange[]; nextBefore: number | null }> {
    return this.#ask('GET', '/api/profile/ratings', { query: { ...query } })
  }

  async #ask<T>(method: string, path: string, options: Parameters<ReeveClient['request']>[2] = {}): Promise<T> {
    return (await this.#http.request<{ data: T }>(method, path, options)).data
  }

  #nextSession(): { session: Promise<ArenaSession>; cancel(): void } {
    const stops: (() => void)[] = []
    const cancel = () => stops.forEach((stop) => stop())
    const session = new Promise<ArenaSession>((resolve, reject) => {
      stops.push(this.on('session', resolve))
      stops.push(
        this.on('error', (error) => {
          if (error.code === 'queue_timeout') reject(error)
        }),
      )
    })
    session.then(cancel, cancel)
    return { session, cancel }
  }

  #hear(event: string, p: unknown): void {
    if (event === 'session.created' && isCreated(p)) this.#created.set(p.sessionId, p)
    else if (event === 'session.started' && isStarted(p)) this.#started(p)
    else if (event === 'session.state' && isState(p)) this.#sessions.get(p.sessionId)?.update(p)
    else if (event === 'session.ended' && isEnded(p)) this.#ended(p)
    else if (event === 'session.rematch' && isUserEvent(p)) this.#emit('rematch', p)
    else if ((event === 'opponent.left' || event === 'opponent.back') && isUserEvent(p))
      this.#sessions.get(p.sessionId)?.notePresence({ userId: p.userId, isPresent: event === 'opponent.back' })
  }

  #started({ sessionId, tickIntervalMs, state }: Started): void {
    const created = this.#created.get(sessionId)
    this.#created.delete(sessionId)
    if (created === undefined) return
    this.#enter({ ...created, sessionId, tickIntervalMs, tick: state.tick, players: state.players })
    void this.#askLength(sessionId)
  }

  /** `session.started` does not say how long the match is; whoever plays may ask as a spectator does. */
  async #askLength(sessionId: string): Promise<void> {
    const view = await this.#socket.ask('session.watch', { sessionId }).catch(() => null)
    const session = this.#sessions.get(sessionId)
    if (isView(view) && session !== undefined) session.ticks = view.ticks
  }

  /** A session that the player is in. */
  #enter(view: SomeView): void {
    const known = this.#sessions.get(view.sessionId)
    if (known !== undefined) return known.resume(view)
    this.#current = this.#open(view)
    this.#emit('session', this.#current)
  }

  #open(view: SomeView): ArenaSession {
    const session = new ArenaSession(view, this.#userId, this.#socket)
    this.#sessions.set(view.sessionId, session)
    return session
  }

  #ended(ended: SessionEnded): void {
    const session = this.#sessions.get(ended.sessionId)
    this.#sessions.delete(ended.sessionId)
    if (this.#current === session) this.#current = null
    session?.end(ended)
  }

  /** The session goes on, or has ended while nobody was listening; so have those that were watched. */
  async #resynced({ session: view, queue }: Snapshot): Promise<void> {
    if (view !== undefined) this.#enter(view)
    this.#emit('queue', queue ?? null)
    const others = [...this.#sessions.values()].filter(({ sessionId }) => sessionId !== view?.sessionId)
    await Promise.all(others.map((session) => this.#findAgain(session)))
  }

  async #findAgain(session: ArenaSession): Promise<void> {
    const { sessionId, isPlayer } = session
    const view = isPlayer ? null : await this.#socket.ask('session.watch', { sessionId }).catch(() => null)
    if (isView(view)) return session.update(view)
    const match = await this.match(sessionId).catch(() => null)
    if (match !== null) this.#ended({ sessionId, reason: match.reason, result: match.result })
  }

  #emit<Name extends keyof ArenaEvents>(name: Name, value: ArenaEvents[Name]): void {
    for (const listener of this.#listeners[name]) listener(value)
  }
}

function platformWebSocket(): SocketConstructor {
  if (typeof globalThis.WebSocket !== 'function') {
    throw new Error('This platform has no WebSocket: give one in the options, for example that of the package ws.')
  }
  return globalThis.WebSocket
}

function ignoreTaken(error: unknown): void {
  if (!(error instanceof ReeveError) || error.status !== 409) throw error
}

interface Started {
  sessionId: string
  tickIntervalMs: number
  state: Pick<SessionState, 'players' | 'tick'>
}

const hasId = (p: unknown): p is { sessionId: string } => isObject(p) && typeof p['sessionId'] === 'string'
const isCreated = (p: unknown): p is Pick<SessionView, 'sessionId' | 'createdAt' | 'participants'> =>
  hasId(p) && 'participants' in p
const isStarted = (p: unknown): p is Started => hasId(p) && 'state' in p
const isState = (p: unknown): p is SessionState => hasId(p) && 'players' in p
const isEnded = (p: unknown): p is SessionEnded => hasId(p) && 'reason' in p
const isUserEvent = (p: unknown): p is { sessionId: string; userId: number } => hasId(p) && 'userId' in p
const isView = (p: unknown): p is SessionView => isState(p) && 'participants' in p
