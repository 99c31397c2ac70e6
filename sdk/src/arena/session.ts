import type { ArenaSocket } from './socket.ts'
import type { ArenaUser, SessionEnded, SessionState, SessionView } from './wire.ts'

/** How many ticks ahead a move aims, unless it says otherwise: it has that long to arrive. */
const AHEAD = 1

export interface SessionInput {
  sessionId: string
  sequence: number
  targetTick: number
  delta: number
}

/** A view that may not say how long the match is. */
export type SomeView = Omit<SessionView, 'ticks'> & { ticks?: number }

export interface PresenceChange {
  userId: number
  isPresent: boolean
}

/** A match as one of its players, or somebody who watches, sees it. */
export class ArenaSession {
  readonly sessionId: string
  readonly participants: readonly ArenaUser[]
  readonly createdAt: string
  /** Resolves when the result is recorded. */
  readonly ended: Promise<SessionEnded>
  tickIntervalMs: number
  /** The length of the match. Null: not known yet. */
  ticks: number | null
  state: SessionState
  /** Null while it runs. */
  outcome: SessionEnded | null = null
  readonly #userId: number
  readonly #socket: Pick<ArenaSocket, 'send' | 'ask'>
  readonly #listeners = new Set<(state: SessionState) => void>()
  readonly #presenceListeners = new Set<(change: PresenceChange) => void>()
  #resolveEnded: (ended: SessionEnded) => void = () => {}
  #sequence = 0

  constructor(view: SomeView, userId: number, socket: Pick<ArenaSocket, 'send' | 'ask'>) {
    this.sessionId = view.sessionId
    this.participants = view.participants
    this.createdAt = view.createdAt
    this.tickIntervalMs = view.tickIntervalMs
    this.ticks = view.ticks ?? null
    this.state = { sessionId: view.sessionId, tick: view.tick, players: view.players }
    this.#userId = userId
    this.#socket = socket
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve))
  }

  get isPlayer(): boolean {
    return this.participants.some(({ userId }) => userId === this.#userId)
  }

  /** Moves by -3 to 3 at a tick to come (default: the next). Returns the sequence that `lastSequence` will show. */
  move(delta: number, options: { ahead?: number } = {}): number {
    const accepted = this.state.players.find(({ userId }) => userId === this.#userId)?.lastSequence ?? 0
    this.#sequence = Math.max(this.#sequence, accepted) + 1
    const targetTick = this.state.tick + (options.ahead ?? AHEAD)
    const input: SessionInput = { sessionId: this.sessionId, sequence: this.#sequence, targetTick, delta }
    this.#socket.send('session.input', input)
    return this.#sequence
  }

  /** Gives up: the other player wins. `ended` tells when that is recorded. */
  resign(): void {
    this.#socket.send('session.resign', { sessionId: this.sessionId })
  }

  /**
   * Asks for another match against the same opponent, within 30 s of the end. When both have asked, the client emits
   * `session`. Returns until when the opponent may ask.
   */
  async rematch(): Promise<{ expiresAt: string }> {
    const answer = await this.#socket.ask('session.rematch', { sessionId: this.sessionId })
    return { expiresAt: String(Object(answer)['expiresAt']) }
  }

  /** Called when a player's last connection closes, and when the player is back. Returns a function that stops it. */
  onPresence(listener: (change: PresenceChange) => void): () => void {
    this.#presenceListeners.add(listener)
    return () => this.#presenceListeners.delete(listener)
  }

  /** For the client that owns the session. */
  notePresence(change: PresenceChange): void {
    for (const listener of this.#presenceListeners) listener(change)
  }

  /** Called at every tick. Returns a function that stops it. */
  onState(listener: (state: SessionState) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** For the client that owns the session. */
  update(state: SessionState): void {
    this.state = state
    for (const listener of this.#listeners) listener(state)
  }

  /** For the client that owns the session: the connection is back. */
  resume({ sessionId, tick, players, ticks }: SomeView): void {
    this.ticks = ticks ?? this.ticks
    this.update({ sessionId, tick, players })
  }

  /** For the client that owns the session. */
  end(ended: SessionEnded): void {
    this.outcome = ended
    this.#resolveEnded(ended)
  }
}
