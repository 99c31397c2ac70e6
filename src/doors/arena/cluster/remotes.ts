// Sessions that run elsewhere: this side of them. The other node says hello when one of its players is connected here, or
// this node attaches by itself when a player comes back or somebody wants to watch. From then on every line it sends for
// the session is passed on as it is. Mail may be lost: a session of which nothing is heard is looked up in the database.
import type { Logger } from 'pino'
import type { Pool } from '../../../core/db/database.ts'
import type { Loop } from '../../../core/loop.ts'
import type { Client } from '../engine/audience.ts'
import { textFrame } from '../engine/frame.ts'
import { OUTPOST_REPEAT_MS } from '../engine/outposts.ts'
import type { Session } from '../engine/session.ts'
import type { Sessions } from '../engine/sessions.ts'
import type { MatchStore } from '../matches/match-store.ts'
import { readResult } from '../matches/record-result.ts'
import type { Presence } from '../players/presence.ts'
import type { Players } from '../sockets/players.ts'
import { endedText } from '../wire.ts'
import { RemoteSession } from './remote-session.ts'

const LOOK_MS = 1000
const SILENT_MS = 3000

export interface RemotesDeps {
  node: string
  pool: Pool
  store: MatchStore
  presence: Presence
  players: Players
  sessions: Sessions
  post(node: string, line: string): void
  log: Logger
}

export class Remotes {
  readonly #deps: RemotesDeps
  readonly #remotes = new Map<string, RemoteSession>()
  readonly loop: Loop

  constructor(deps: RemotesDeps) {
    this.#deps = deps
    this.loop = {
      name: 'keep in touch with sessions elsewhere',
      everyMs: LOOK_MS,
      runOnce: async () => {
        await this.#review(performance.now())
        return false
      },
    }
  }

  get(sessionId: string): RemoteSession | undefined {
    return this.#remotes.get(sessionId)
  }

  /** Finds the session that a player is in, wherever it runs. */
  async locate(userId: number): Promise<void> {
    const { presence, players, sessions, node } = this.#deps
    const seat = await presence.seatOf(userId)
    if (seat.is !== 'playing' || !players.has(userId)) return
    const local = sessions.get(seat.matchId)
    if (local !== undefined) players.seat(local, [userId])
    else if (seat.node !== null && seat.node !== node) this.join(seat.matchId, seat.node, [userId])
  }

  /** These players here are in that session there. */
  join(sessionId: string, node: string, userIds: readonly number[]): RemoteSession {
    const remote = this.#open(sessionId, node)
    for (const userId of userIds) if (this.#deps.players.has(userId)) remote.userIds.add(userId)
    this.#deps.players.seat(remote, userIds)
    remote.attach(performance.now())
    return remote
  }

  watch(sessionId: string, node: string, client: Client): void {
    const remote = this.#open(sessionId, node)
    remote.audience.add(client)
    remote.attach(performance.now())
  }

  /** Somebody has gone: a session that nobody here hears of any more is forgotten. */
  leave(remote: RemoteSession, userId: number): void {
    if (!this.#deps.players.has(userId)) remote.userIds.delete(userId)
    if (remote.audience.size > 0) return
    remote.detach()
    this.#remotes.delete(remote.sessionId)
  }

  /** Another node runs a session that was here: its players hear of it from there, and so do those who watch. */
  async moved(session: Session): Promise<void> {
    const { players, node } = this.#deps
    for (const { userId } of session.match.participants) if (players.has(userId)) await this.locate(userId)
    const there = this.get(session.sessionId)?.node ?? node // not known: this node will say that it is not here
    for (const client of session.audience.clients())
      if (!session.isParticipant(client.userId)) this.watch(session.sessionId, there, client)
  }

  onHello(sessionId: string, node: string, userIds: readonly number[], greetings: readonly string[]): void {
    const { players } = this.#deps
    const known = this.#remotes.get(sessionId)
    const fresh = userIds.filter((userId) => known?.isParticipant(userId) !== true) // the word may come twice
    const remote = this.join(sessionId, node, userIds)
    if (remote.audience.size === 0) return this.leave(remote, 0)
    const frames = greetings.map(textFrame)
    for (const userId of fresh)
      for (const client of players.clientsOf(userId)) for (const frame of frames) client.sendFrame(frame)
  }

  onEvent(sessionId: string, text: string): void {
    const remote = this.#remotes.get(sessionId)
    if (remote === undefined) return
    remote.heardMs = performance.now()
    remote.audience.sendFrame(textFrame(text))
  }

  onOver(sessionId: string, userIds: readonly number[], text: string): void {
    const remote = this.#remotes.get(sessionId)
    const frame = textFrame(text)
    if (remote !== undefined) return this.#end(remote, frame)
    for (const userId of userIds) {
      if (this.#deps.players.sessionOf(userId) !== null) continue // it has begun another one
      for (const client of this.#deps.players.clientsOf(userId)) client.sendFrame(frame)
    }
  }

  /** The node that was thought to run it does not. */
  onUnknown(sessionId: string): void {
    const remote = this.#remotes.get(sessionId)
    if (remote !== undefined) remote.heardMs = -Infinity
  }

  #open(sessionId: string, node: string): RemoteSession {
    const known = this.#remotes.get(sessionId)
    if (known !== undefined) {
      known.node = node
      return known
    }
    const { node: here, post } = this.#deps
    const remote = new RemoteSession(sessionId, { here, there: node }, post, performance.now())
    this.#remotes.set(sessionId, remote)
    return remote
  }

  #end(remote: RemoteSession, frame: Buffer): void {
    this.#remotes.delete(remote.sessionId)
    remote.audience.sendFrame(frame)
    this.#deps.players.unseat(remote, [...remote.userIds])
  }

  async #review(nowMs: number): Promise<void> {
    for (const remote of this.#remotes.values()) {
      if (nowMs - remote.heardMs > SILENT_MS) await this.#lookUp(remote)
      else if (nowMs - remote.toldMs > OUTPOST_REPEAT_MS) remote.attach(nowMs)
    }
  }

  /** It runs on another node by now, or here, or it is over and the word was lost. */
  async #lookUp(remote: RemoteSession): Promise<void> {
    const { store, pool, sessions, players, node } = this.#deps
    const { sessionId } = remote
    const live = await store.find(sessionId)
    const local = sessions.get(sessionId)
    if (local !== undefined) {
      this.#remotes.delete(sessionId)
      for (const client of remote.audience.clients()) local.audience.add(client)
      players.seat(local, [...remote.userIds])
    } else if (live === null) {
      const ended = (await readResult(pool, sessionId)) ?? { reason: 'void' as const, result: null }
      this.#end(remote, textFrame(endedText(sessionId, ended)))
    } else if (live.node !== node) {
      remote.node = live.node
      remote.attach(performance.now())
    }
  }
}
