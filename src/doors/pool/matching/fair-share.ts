// Whose turn it is: start-time fair queueing over clients. Each assignment costs its client one turn; the client that has
// had the fewest goes first. A client that comes anew, or comes back, starts where the others are: it neither waits for
// the past nor is paid for it. What a process remembers of this is a courtesy, not a truth: it may forget it.

const REMEMBERED_MAX = 100_000

export class Turns {
  readonly #had = new Map<number, number>()
  #now = 0

  of(clientId: number): number {
    return Math.max(this.#had.get(clientId) ?? 0, this.#now)
  }

  take(clientId: number): void {
    const turn = this.of(clientId)
    this.#now = turn
    this.#had.set(clientId, turn + 1)
    if (this.#had.size > REMEMBERED_MAX) this.#forget()
  }

  /** Who is not ahead of the others is as good as unknown. */
  #forget(): void {
    for (const [clientId, turn] of this.#had) if (turn <= this.#now) this.#had.delete(clientId)
  }
}
