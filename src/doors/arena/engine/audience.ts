import type { Language } from '../errors.ts'

/** Somebody who hears of a session here: a WebSocket. */
export interface Client {
  /** Counted by this node. */
  readonly id: number
  readonly userId: number
  readonly language: Language
  send(text: string): void
  /** The same bytes for many: see frame.ts. */
  sendFrame(frame: Buffer): void
}

/** All who hear of one session on this node: its players' sockets, and those who watch. */
export class Audience {
  #clients: readonly Client[] = []

  get size(): number {
    return this.#clients.length
  }

  has(client: Client): boolean {
    return this.#clients.includes(client)
  }

  /** A new list each time: whoever is going through the old one is not disturbed. */
  add(client: Client): void {
    if (!this.has(client)) this.#clients = [...this.#clients, client]
  }

  remove(client: Client): void {
    this.#clients = this.#clients.filter((one) => one !== client)
  }

  sendFrame(frame: Buffer): void {
    for (const client of this.#clients) client.sendFrame(frame)
  }

  clients(): readonly Client[] {
    return this.#clients
  }
}
