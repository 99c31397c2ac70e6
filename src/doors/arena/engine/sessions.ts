// The sessions that this node runs.
import type { Held } from '../../../core/ledger/job.ts'
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
    return session
  }

  /** The first tick comes after one to two intervals, in the slot with the fewest tasks. */
  begin(session: Session): void {
    const { wheel } = this.#world
    const { tickIntervalMs } = session.match
    session.begin(wheel.quietMoment(wheel.now() + tickIntervalMs, tickIntervalMs))
  }

  /** The session no longer runs on this node. */
  forget(session: Session): void {
    session.state = 'over'
    if (this.#sessions.get(session.sessionId) === session) this.#sessions.delete(session.sessionId)
  }
}
