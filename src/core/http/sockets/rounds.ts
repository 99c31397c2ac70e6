// Visits each of many items once in a round, a share of them at a time: thousands at once would hold up everything else.

const SHARE_MIN = 100
const SHARES_MAX = 20

export class Rounds<Key, Value> {
  readonly #items = new Map<Key, Value>() // in the order of their turns
  readonly #roundMs: number

  constructor(roundMs: number) {
    this.#roundMs = roundMs
  }

  add(key: Key, value: Value): void {
    this.#items.set(key, value)
  }

  remove(key: Key): void {
    this.#items.delete(key)
  }

  /** How long after one share the next is due. */
  get everyMs(): number {
    return this.#roundMs / this.#shares
  }

  next(): [Key, Value][] {
    const count = Math.ceil(this.#items.size / this.#shares)
    const share: [Key, Value][] = []
    for (const item of this.#items) {
      if (share.length >= count) break
      share.push(item)
    }
    for (const [key, value] of share) {
      this.#items.delete(key) // to the end
      this.#items.set(key, value)
    }
    return share
  }

  get #shares(): number {
    return Math.min(SHARES_MAX, Math.max(1, Math.ceil(this.#items.size / SHARE_MIN)))
  }
}
