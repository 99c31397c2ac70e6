// The other nodes that follow a session because one of its players or spectators is connected there. A node repeats its
// attach every few seconds; a node that stays silent is dropped.

export const ATTACH_REPEAT_MS = 5000
const DROP_AFTER_MS = 3 * ATTACH_REPEAT_MS

interface PeerNode {
  users: Set<number>
  lastHeardMs: number
  /** Set by its first attach. Until then the invitation is repeated. */
  isConfirmed: boolean
}

export class PeerNodes {
  readonly #peers = new Map<string, PeerNode>()

  get size(): number {
    return this.#peers.size
  }

  nodes(): Iterable<string> {
    return this.#peers.keys()
  }

  hasUser(userId: number): boolean {
    for (const { users, isConfirmed } of this.#peers.values()) if (isConfirmed && users.has(userId)) return true
    return false
  }

  /** According to the database, this user is connected there. */
  expect(node: string, userId: number, nowMs: number): void {
    this.#open(node, nowMs).users.add(userId)
  }

  /** The node follows the session, for this user or (null) for a spectator. */
  attach(node: string, userId: number | null, nowMs: number): void {
    const peer = this.#open(node, nowMs)
    peer.isConfirmed = true
    peer.lastHeardMs = nowMs
    if (userId !== null) peer.users.add(userId)
  }

  detach(node: string): void {
    this.#peers.delete(node)
  }

  /** Drops silent nodes, and returns those that have not confirmed, with the users expected there. */
  review(nowMs: number): { node: string; userIds: number[] }[] {
    const unconfirmed: { node: string; userIds: number[] }[] = []
    for (const [node, { users, lastHeardMs, isConfirmed }] of this.#peers) {
      if (nowMs - lastHeardMs > DROP_AFTER_MS) this.#peers.delete(node)
      else if (!isConfirmed) unconfirmed.push({ node, userIds: [...users] })
    }
    return unconfirmed
  }

  #open(node: string, nowMs: number): PeerNode {
    const known = this.#peers.get(node)
    if (known !== undefined) return known
    const peer = { users: new Set<number>(), lastHeardMs: nowMs, isConfirmed: false }
    this.#peers.set(node, peer)
    return peer
  }
}
