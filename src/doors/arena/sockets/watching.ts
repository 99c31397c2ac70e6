// Spectators follow a session and cannot change it. Both the spectators per session and the sessions per socket are bounded.
import type { RemoteSessions } from '../cluster/remote-sessions.ts'
import type { Client } from '../engine/audience.ts'
import type { VisibleSession } from '../engine/session.ts'
import type { Sessions } from '../engine/sessions.ts'

const WATCHED_PER_CLIENT_MAX = 4

export class Watching {
  readonly #sessions: Sessions
  readonly #remotes: RemoteSessions
  readonly #watchersMax: number
  readonly #watched = new Map<Client, Set<string>>()

  constructor(deps: { sessions: Sessions; remotes: RemoteSessions; watchersMax: number }) {
    this.#sessions = deps.sessions
    this.#remotes = deps.remotes
    this.#watchersMax = deps.watchersMax
  }

  /** False: the limit is reached. */
  begin(sessionId: string, node: string, client: Client): boolean {
    const watched = this.#watchedBy(client)
    if (watched.has(sessionId)) return true
    const seen = this.#seen(sessionId)
    if (watched.size >= WATCHED_PER_CLIENT_MAX || watchersOf(seen) >= this.#watchersMax) return false
    if (seen?.isParticipant(client.userId) === true) return true // follows it as a player
    const local = this.#sessions.get(sessionId)
    if (local !== undefined) local.audience.add(client)
    else this.#remotes.watch(sessionId, node, client)
    watched.add(sessionId)
    this.#watched.set(client, watched)
    return true
  }

  /** False: it was not watched. */
  end(sessionId: string, client: Client): boolean {
    if (this.#watched.get(client)?.delete(sessionId) !== true) return false
    this.#seen(sessionId)?.audience.remove(client)
    const remote = this.#remotes.get(sessionId)
    if (remote !== undefined) this.#remotes.leave(remote, client.userId)
    return true
  }

  /** The socket has closed. */
  leave(client: Client): void {
    for (const sessionId of this.#watched.get(client) ?? []) this.end(sessionId, client)
    this.#watched.delete(client)
  }

  #seen(sessionId: string): VisibleSession | undefined {
    return this.#sessions.get(sessionId) ?? this.#remotes.get(sessionId)
  }

  /** Drops those that are over. */
  #watchedBy(client: Client): Set<string> {
    const watched = this.#watched.get(client) ?? new Set<string>()
    for (const sessionId of watched) if (this.#seen(sessionId) === undefined) watched.delete(sessionId)
    return watched
  }
}

const watchersOf = (seen: VisibleSession | undefined): number =>
  seen?.audience.clients().filter(({ userId }) => !seen.isParticipant(userId)).length ?? 0
