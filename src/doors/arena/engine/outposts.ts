// Other nodes that hear of a session, because one of its players or watchers is connected there. A node says so again every
// few seconds; one that has not for a while is thought gone.

export const OUTPOST_REPEAT_MS = 5000
const OUTPOST_LOST_MS = 3 * OUTPOST_REPEAT_MS

interface Outpost {
  users: Set<number>
  heardMs: number
  /** It has answered. Until then it is told again that it should hear of the session. */
  isSure: boolean
}

export class Outposts {
  readonly #outposts = new Map<string, Outpost>()

  get size(): number {
    return this.#outposts.size
  }

  nodes(): Iterable<string> {
    return this.#outposts.keys()
  }

  hasUser(userId: number): boolean {
    for (const { users, isSure } of this.#outposts.values()) if (isSure && users.has(userId)) return true
    return false
  }

  /** This user may be connected there. */
  suppose(node: string, userId: number, nowMs: number): void {
    this.#open(node, nowMs).users.add(userId)
  }

  /** That node says that it is there: for this user, or (null) for somebody who watches. */
  attach(node: string, userId: number | null, nowMs: number): void {
    const outpost = this.#open(node, nowMs)
    outpost.isSure = true
    outpost.heardMs = nowMs
    if (userId !== null) outpost.users.add(userId)
  }

  /** That node has no one left who would hear of the session. */
  detach(node: string): void {
    this.#outposts.delete(node)
  }

  /** Forgets those that have been silent, and names those that never answered with whom they were thought to have. */
  review(nowMs: number): { node: string; userIds: number[] }[] {
    const unsure: { node: string; userIds: number[] }[] = []
    for (const [node, { users, heardMs, isSure }] of this.#outposts) {
      if (nowMs - heardMs > OUTPOST_LOST_MS) this.#outposts.delete(node)
      else if (!isSure) unsure.push({ node, userIds: [...users] })
    }
    return unsure
  }

  #open(node: string, nowMs: number): Outpost {
    const known = this.#outposts.get(node)
    if (known !== undefined) return known
    const outpost = { users: new Set<number>(), heardMs: nowMs, isSure: false }
    this.#outposts.set(node, outpost)
    return outpost
  }
}
