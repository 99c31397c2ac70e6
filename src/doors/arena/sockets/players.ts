// The players connected to this node and their sessions. All sockets of a player receive the same.
import type { Client } from '../engine/audience.ts'
import type { VisibleSession } from '../engine/session.ts'

/** Above this, the player's oldest socket is closed. */
const SOCKETS_PER_PLAYER_MAX = 8

interface Player {
  clients: Set<Client>
  session: VisibleSession | null
}

export class Players {
  readonly #players = new Map<number, Player>()
  readonly #clients = new Map<number, Client>()

  /** By the id that this node assigned. */
  client(id: number): Client | undefined {
    return this.#clients.get(id)
  }

  has(userId: number): boolean {
    return this.#players.has(userId)
  }

  sessionOf(userId: number): VisibleSession | null {
    return this.#players.get(userId)?.session ?? null
  }

  clientsOf(userId: number): Iterable<Client> {
    return this.#players.get(userId)?.clients ?? []
  }

  /** Returns the socket to close, if the player has too many. */
  enter(client: Client): Client | null {
    const player = this.#players.get(client.userId) ?? { clients: new Set<Client>(), session: null }
    this.#players.set(client.userId, player)
    player.clients.add(client)
    this.#clients.set(client.id, client)
    player.session?.audience.add(client)
    const [oldest] = player.clients
    if (player.clients.size <= SOCKETS_PER_PLAYER_MAX || oldest === undefined) return null
    this.leave(oldest) // at once: a socket that closes slowly is not counted or chosen again
    return oldest
  }

  /** Returns whether that was the player's last socket. */
  leave(client: Client): boolean {
    const player = this.#players.get(client.userId)
    if (player === undefined || !player.clients.delete(client)) return false
    this.#clients.delete(client.id)
    player.session?.audience.remove(client)
    if (player.clients.size > 0) return false
    this.#players.delete(client.userId)
    return true
  }

  /** Those of these players that are connected here follow the session from now on. */
  seat(session: VisibleSession, userIds: readonly number[]): void {
    for (const userId of userIds) {
      const player = this.#players.get(userId)
      if (player === undefined) continue
      if (player.session !== session) for (const client of player.clients) player.session?.audience.remove(client)
      player.session = session
      for (const client of player.clients) session.audience.add(client)
    }
  }

  /** Does nothing for players who are already in another session. */
  unseat(session: VisibleSession, userIds: readonly number[]): void {
    for (const userId of userIds) {
      const player = this.#players.get(userId)
      if (player?.session !== session) continue
      player.session = null
      for (const client of player.clients) session.audience.remove(client)
    }
  }

  userIds(): Iterable<number> {
    return this.#players.keys()
  }
}
