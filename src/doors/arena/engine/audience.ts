import type { MessageLanguage } from '../errors.ts'

/** A WebSocket of a player or spectator on this node. */
export interface Client {
  /** Assigned by this node. */
  readonly id: number
  readonly userId: number
  readonly language: MessageLanguage
  send(text: string): void
  /** For a frame that is built once and sent to many: see frame.ts. */
  sendFrame(frame: Buffer): void
}

/** The clients on this node that follow one session: its players' sockets and its spectators. */
export class Audience {
  #clients: readonly Client[] = []

  get size(): number {
    return this.#clients.length
  }

  has(client: Client): boolean {
    return this.#clients.includes(client)
  }

  /** Replaces the list, so that an iteration over the old one is not disturbed. */
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
