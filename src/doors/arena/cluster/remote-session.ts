import { Audience, type Client } from '../engine/audience.ts'
import type { PlayerInput, VisibleSession } from '../engine/session.ts'
import type { SocketError } from '../errors.ts'
import type { SendToNode } from './messages.ts'

/** A session that another node runs and that a player or spectator on this node follows. */
export class RemoteSession implements VisibleSession {
  readonly sessionId: string
  readonly audience = new Audience()
  readonly tick = null
  /** Its players that are connected here. */
  readonly userIds = new Set<number>()
  /** The node that runs it. */
  node: string
  lastHeardMs: number
  lastAttachedMs: number
  readonly #send: SendToNode
  readonly #ownNode: string

  constructor(sessionId: string, nodes: { own: string; remote: string }, send: SendToNode, nowMs: number) {
    this.sessionId = sessionId
    this.node = nodes.remote
    this.#ownNode = nodes.own
    this.#send = send
    this.lastHeardMs = nowMs
    this.lastAttachedMs = nowMs
  }

  isParticipant(userId: number): boolean {
    return this.userIds.has(userId)
  }

  /** The node that runs the session checks the input; a refusal comes back as a message. */
  input({ id: clientId, userId }: Client, seq: number, input: PlayerInput): SocketError | null {
    if (!this.isParticipant(userId)) return 'not_participant'
    const { sessionId } = this
    this.#send(this.node, { type: 'input', sessionId, node: this.#ownNode, clientId, userId, seq, ...input })
    return null
  }

  resign({ id: clientId, userId }: Client, seq: number): SocketError | null {
    if (!this.isParticipant(userId)) return 'not_participant'
    const { sessionId } = this
    this.#send(this.node, { type: 'resign', sessionId, node: this.#ownNode, clientId, userId, seq })
    return null
  }

  notePresence(userId: number, isPresent: boolean): void {
    if (this.isParticipant(userId))
      this.#send(this.node, { type: 'presence', sessionId: this.sessionId, userId, isPresent })
  }

  /** Tells the other node which players, or that only spectators, follow the session here. */
  attach(nowMs: number): void {
    this.lastAttachedMs = nowMs
    const users = this.userIds.size === 0 ? [null] : this.userIds
    const { sessionId } = this
    for (const userId of users) this.#send(this.node, { type: 'attach', sessionId, node: this.#ownNode, userId })
  }

  detach(): void {
    this.#send(this.node, { type: 'detach', sessionId: this.sessionId, node: this.#ownNode })
  }
}
