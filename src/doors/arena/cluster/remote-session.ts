import { Audience, type Client } from '../engine/audience.ts'
import type { PlayerInput, Seen } from '../engine/session.ts'
import type { SocketError } from '../errors.ts'

/** A session that another node runs, of which somebody here is a player or watches. */
export class RemoteSession implements Seen {
  readonly sessionId: string
  readonly audience = new Audience()
  readonly tick = null
  /** Who of its players is connected here. */
  readonly userIds = new Set<number>()
  /** Who runs it. */
  node: string
  heardMs: number
  toldMs: number
  readonly #post: (node: string, line: string) => void
  readonly #here: string

  constructor(
    sessionId: string,
    nodes: { here: string; there: string },
    post: (node: string, line: string) => void,
    nowMs: number,
  ) {
    this.sessionId = sessionId
    this.node = nodes.there
    this.#here = nodes.here
    this.#post = post
    this.heardMs = nowMs
    this.toldMs = nowMs
  }

  isParticipant(userId: number): boolean {
    return this.userIds.has(userId)
  }

  /** It is judged where the session runs; a refusal comes back. */
  input({ id, userId }: Client, seq: number, { sequence, targetTick, delta }: PlayerInput): SocketError | null {
    if (!this.isParticipant(userId)) return 'not_participant'
    this.#post(
      this.node,
      `input ${this.sessionId} ${this.#here} ${id} ${userId} ${seq} ${sequence} ${targetTick} ${delta}`,
    )
    return null
  }

  /** Says that there is still somebody here: for a player, or (0) for who watches. */
  attach(nowMs: number): void {
    this.toldMs = nowMs
    const users = this.userIds.size === 0 ? [0] : this.userIds
    for (const userId of users) this.#post(this.node, `attach ${this.sessionId} ${this.#here} ${userId}`)
  }

  detach(): void {
    this.#post(this.node, `detach ${this.sessionId} ${this.#here}`)
  }
}
