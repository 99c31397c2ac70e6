// Sessions that run on other nodes, as this node follows them. The other node says hello when one of its players is
// connected here; this node attaches by itself when a player returns or somebody wants to watch. From then on every event
// of the session is passed on unchanged. Messages may be lost: a silent session is looked up in the database.
import type { Pool } from '../../../core/db/database.ts'
import type { Loop } from '../../../core/loop.ts'
import type { Client } from '../engine/audience.ts'
import { textFrame } from '../engine/frame.ts'
import { ATTACH_REPEAT_MS } from '../engine/peer-nodes.ts'
import type { Session } from '../engine/session.ts'
import type { Sessions } from '../engine/sessions.ts'
import type { MatchStore } from '../matches/match-store.ts'
import { readResult } from '../matches/record-result.ts'
import type { PlayerPresence } from '../players/presence.ts'
import type { Players } from '../sockets/players.ts'
import { endedText } from '../wire.ts'
import type { NodeMessage, SendToNode } from './messages.ts'
import { RemoteSession } from './remote-session.ts'

const REVIEW_MS = 1000
const SILENT_MS = 3000

export interface RemoteSessionsDeps {
  node: string
  pool: Pool
  store: MatchStore
  presence: PlayerPresence
  players: Players
  sessions: Sessions
  send: SendToNode
}

type Hello = Omit<Extract<NodeMessage, { type: 'hello' }>, 'type'>

export class RemoteSessions {
  readonly #deps: RemoteSessionsDeps
  readonly #remotes = new Map<string, RemoteSession>()
  readonly loop: Loop

  constructor(deps: RemoteSessionsDeps) {
    this.#deps = deps
    this.loop = {
      name: 'review-remote-sessions',
      everyMs: REVIEW_MS,
      runOnce: async () => {
        await this.#review(performance.now())
        return false
      },
    }
  }

  get(sessionId: string): RemoteSession | undefined {
    return this.#remotes.get(sessionId)
  }

  /** Finds the session that a player is in, on whichever node it runs. */
  async locate(userId: number): Promise<void> {
    const { presence, players, sessions, node } = this.#deps
    const seat = await presence.seatOf(userId)
    if (seat.is !== 'playing' || !players.has(userId)) return
    const local = sessions.get(seat.matchId)
    if (local !== undefined) players.seat(local, [userId])
    else if (seat.node !== null && seat.node !== node) this.join(seat.matchId, seat.node, [userId])
  }

  /** These players, connected here, take part in a session of that node. */
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

  /** A client has gone. A session that nobody here follows any more is forgotten. */
  leave(remote: RemoteSession, userId: number): void {
    if (!this.#deps.players.has(userId)) remote.userIds.delete(userId)
    if (remote.audience.size > 0) return
    remote.detach()
    this.#remotes.delete(remote.sessionId)
  }

  /** A session of this node now runs on another one: its players and spectators follow it there. */
  async moved(session: Session): Promise<void> {
    const { players, node } = this.#deps
    for (const { userId } of session.match.participants) if (players.has(userId)) await this.locate(userId)
    // If no player led to the other node, this node answers `unknown` to itself, and the next review looks it up.
    const remoteNode = this.get(session.sessionId)?.node ?? node
    for (const client of session.audience.clients())
      if (!session.isParticipant(client.userId)) this.watch(session.sessionId, remoteNode, client)
  }

  onHello({ sessionId, node, userIds, greetings }: Hello): void {
    const { players } = this.#deps
    const known = this.#remotes.get(sessionId)
    const fresh = userIds.filter((userId) => known?.isParticipant(userId) !== true) // a hello may be repeated
    const remote = this.join(sessionId, node, userIds)
    if (remote.audience.size === 0) return this.leave(remote, 0)
    const frames = greetings.map(textFrame)
    for (const userId of fresh)
      for (const client of players.clientsOf(userId)) for (const frame of frames) client.sendFrame(frame)
  }

  onEvent(sessionId: string, text: string): void {
    const remote = this.#remotes.get(sessionId)
    if (remote === undefined) return
    remote.lastHeardMs = performance.now()
    remote.audience.sendFrame(textFrame(text))
  }

  onOver(sessionId: string, userIds: readonly number[], text: string): void {
    const remote = this.#remotes.get(sessionId)
    const frame = textFrame(text)
    if (remote !== undefined) return this.#end(remote, frame)
    for (const userId of userIds) {
      if (this.#deps.players.sessionOf(userId) !== null) continue // already in another session
      for (const client of this.#deps.players.clientsOf(userId)) client.sendFrame(frame)
    }
  }

  /** The node that was asked does not run it: the next review looks it up. */
  onUnknown(sessionId: string): void {
    const remote = this.#remotes.get(sessionId)
    if (remote !== undefined) remote.lastHeardMs = -Infinity
  }

  #open(sessionId: string, node: string): RemoteSession {
    const known = this.#remotes.get(sessionId)
    if (known !== undefined) {
      known.node = node
      return known
    }
    const { node: own, send } = this.#deps
    const remote = new RemoteSession(sessionId, { own, remote: node }, send, performance.now())
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
      if (nowMs - remote.lastHeardMs > SILENT_MS) await this.#lookUp(remote)
      else if (nowMs - remote.lastAttachedMs > ATTACH_REPEAT_MS) remote.attach(nowMs)
    }
  }

  /** The session has moved to another node or to this one, or it is over and the message was lost. */
  async #lookUp(remote: RemoteSession): Promise<void> {
    const { store, pool, sessions, players, node } = this.#deps
    const { sessionId } = remote
    const stored = await store.find(sessionId)
    const local = sessions.get(sessionId)
    if (local !== undefined) {
      this.#remotes.delete(sessionId)
      for (const client of remote.audience.clients()) local.audience.add(client)
      players.seat(local, [...remote.userIds])
    } else if (stored === null) {
      const ended = (await readResult(pool, sessionId)) ?? { reason: 'void' as const, result: null }
      this.#end(remote, textFrame(endedText(sessionId, ended)))
    } else if (stored.node !== node) {
      remote.node = stored.node
      remote.attach(performance.now())
    }
  }
}
