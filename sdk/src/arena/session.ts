import type { ArenaUser, SessionEnded, SessionState, SessionView } from './wire.ts'

/** How many ticks ahead a move aims, unless it says otherwise: it has that long to arrive. */
const AHEAD = 1

export interface SessionInput {
  sessionId: string
  sequence: number
  targetTick: number
  delta: number
}

/** A match as one of its players, or somebody who watches, sees it. */
export class ArenaSession {
  readonly sessionId: string
  readonly participants: readonly ArenaUser[]
  readonly createdAt: string
  /** Resolves when the result is recorded. */
  readonly ended: Promise<SessionEnded>
  tickIntervalMs: number
  state: SessionState
  /** Null while it runs. */
  outcome: SessionEnded | null = null
  readonly #userId: number
  readonly #send: (input: SessionInput) => void
  readonly #listeners = new Set<(state: SessionState) => void>()
  #resolveEnded: (ended: SessionEnded) => void = () => {}
  #sequence = 0

  constructor(view: Omit<SessionView, 'ticks'>, userId: number, send: (input: SessionInput) => void) {
    this.sessionId = view.sessionId
    this.participants = view.participants
    this.createdAt = view.createdAt
    this.tickIntervalMs = view.tickIntervalMs
    this.state = { sessionId: view.sessionId, tick: view.tick, players: view.players }
    this.#userId = userId
    this.#send = send
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
    this.#send({ sessionId: this.sessionId, sequence: this.#sequence, targetTick, delta })
    return this.#sequence
  }

  /** Called at every tick. Returns how to stop. */
  onState(listener: (state: SessionState) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** For the client that owns the session. */
  update(state: SessionState): void {
    this.state = state
    for (const listener of this.#listeners) listener(state)
  }

  /** For the client that owns the session. */
  end(ended: SessionEnded): void {
    this.outcome = ended
    this.#resolveEnded(ended)
  }
}
