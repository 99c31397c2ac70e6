// The sessions that this node runs.
import type { Held } from '../../../core/ledger/job.ts'
import { Wake } from '../../../core/loop.ts'
import type { Match } from '../match.ts'
import type { Game } from './game.ts'
import { Session, type SessionWorld } from './session.ts'

export interface Opening {
  match: Match
  game: Game
  held: Held
  /** SeatAnswer over from another node, or from before a restart. */
  isResumed?: boolean
}

export class Sessions {
  readonly #sessions = new Map<string, Session>()
  readonly #world: SessionWorld
  /** Rings when the first session opens. */
  readonly opened = new Wake()

  constructor(world: SessionWorld) {
    this.#world = world
  }

  get size(): number {
    return this.#sessions.size
  }

  get(sessionId: string): Session | undefined {
    return this.#sessions.get(sessionId)
  }

  all(): Iterable<Session> {
    return this.#sessions.values()
  }

  /** The session does not tick before `begin`. */
  open({ match, game, held, isResumed = false }: Opening): Session {
    const session = new Session(this.#world, match, game, held, { isResumed })
    this.#sessions.set(session.sessionId, session)
    if (this.#sessions.size === 1) this.opened.ring()
    return session
  }

  /** The first tick comes after one to two intervals, in a slot that other sessions use or in an empty one. */
  begin(session: Session): void {
    const { wheel } = this.#world
    const { tickIntervalMs } = session.match
    session.begin(wheel.sharedMoment(wheel.now() + tickIntervalMs, tickIntervalMs))
  }

  /** The session no longer runs on this node. */
  forget(session: Session): void {
    session.state = 'over'
    if (this.#sessions.get(session.sessionId) === session) this.#sessions.delete(session.sessionId)
  }
}
