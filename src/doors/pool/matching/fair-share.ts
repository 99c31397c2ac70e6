// Start-time fair queueing over clients: each assignment costs its client one unit of service, and the client with the least
// is served first. A new or returning client starts at the current level: it neither waits for the past nor is paid for it.
// Each process keeps its own counts, and may lose them.

const CLIENTS_MAX = 100_000

export class FairShare {
  readonly #served = new Map<number, number>()
  #level = 0

  servedOf(clientId: number): number {
    return Math.max(this.#served.get(clientId) ?? 0, this.#level)
  }

  charge(clientId: number): void {
    const served = this.servedOf(clientId)
    this.#level = served
    this.#served.set(clientId, served + 1)
    if (this.#served.size > CLIENTS_MAX) this.#forgetIdle()
  }

  /** A client at the current level needs no entry. */
  #forgetIdle(): void {
    for (const [clientId, served] of this.#served) if (served <= this.#level) this.#served.delete(clientId)
  }
}
