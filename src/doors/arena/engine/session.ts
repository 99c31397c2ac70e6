// A match while it runs, on the node that holds its job. Ticks and inputs touch no database: at each tick the game moves,
// its state is written once, and the same frame goes to every socket here and the same line to every other node that has
// a player or a watcher of it.
//
//   running ──last tick──► closing ──committed──► over
//      └───────cancelled, or lost to another node───┘
import type { Side } from '@reeve/sdk/arena-replay'
import type { Held } from '../../../core/ledger/job.ts'
import type { SocketError } from '../errors.ts'
import { userIdsOf, type Match } from '../match.ts'
import { stateWriter } from '../wire.ts'
import { Audience, type Client } from './audience.ts'
import { asciiFrame } from './frame.ts'
import type { Game } from './game.ts'
import { Outposts } from './outposts.ts'
import { Timed, type Wheel } from './wheel.ts'

/** A process that stood still does not make up for more than this: the match goes on from now. */
const CATCH_UP_MS = 1000
/** A match that was taken over waits so long for its players to be back. */
export const RESUME_WAIT_MS = 3000

export interface PlayerInput {
  sequence: number
  targetTick: number
  delta: number
}

/** A session as a socket of this node sees it, wherever it runs. */
export interface Seen {
  readonly sessionId: string
  readonly audience: Audience
  /** For pings. Null: not known here. */
  readonly tick: number | null
  isParticipant(userId: number): boolean
  /** What is wrong with it, or null. A session elsewhere answers for itself, later. */
  input(client: Client, seq: number, input: PlayerInput): SocketError | null
}

export interface SessionWorld {
  wheel: Wheel
  /** The time of day, the same text for all that happens in one turn of the wheel. */
  stamp(now: number): string
  /** To another node. */
  post(node: string, line: string): void
  /** The game is over, and its result is to be recorded. */
  onLastTick(session: Session): void
}

export class Session extends Timed implements Seen {
  readonly match: Match
  readonly game: Game
  readonly audience = new Audience()
  readonly outposts = new Outposts()
  /** The right to record its result. A later attempt may take its place. */
  held: Held
  state: 'running' | 'closing' | 'over' = 'running'
  /** What of the record is on disk; null: not known, all of it is to be written. */
  saved: { tick: number; bytes: number } | null
  readonly #world: SessionWorld
  readonly #userIds: readonly [number, number]
  readonly #write: (game: Game, issuedAt: string) => string
  #dueMs = 0
  #waitsUntil: number

  constructor(world: SessionWorld, match: Match, game: Game, held: Held, { isResumed = false } = {}) {
    super()
    this.#world = world
    this.match = match
    this.game = game
    this.held = held
    this.saved = { tick: game.tick, bytes: game.record.length }
    this.#userIds = userIdsOf(match)
    this.#write = stateWriter(match)
    this.#waitsUntil = isResumed ? world.wheel.now() + RESUME_WAIT_MS : 0
  }

  get sessionId(): string {
    return this.match.matchId
  }

  get tick(): number {
    return this.game.tick
  }

  get isOver(): boolean {
    return this.state === 'over'
  }

  begin(firstTickMs: number): void {
    this.#dueMs = firstTickMs
    this.#world.wheel.addAt(this, firstTickMs)
  }

  override run(now: number): void {
    if (this.state !== 'running') return
    if (!this.#isWaiting(now)) {
      this.game.advance()
      this.#tell(now)
      if (this.game.isOver) {
        this.state = 'closing'
        this.#world.onLastTick(this)
        return
      }
    }
    const dueMs = this.#dueMs + this.match.tickIntervalMs
    this.#dueMs = now - dueMs > CATCH_UP_MS ? now + this.match.tickIntervalMs : dueMs
    this.#world.wheel.addAt(this, this.#dueMs)
  }

  isParticipant(userId: number): boolean {
    return this.sideOf(userId) !== null
  }

  sideOf(userId: number): Side | null {
    if (userId === this.#userIds[0]) return 0
    return userId === this.#userIds[1] ? 1 : null
  }

  input(client: Client, _seq: number, input: PlayerInput): SocketError | null {
    return this.inputOf(client.userId, input)
  }

  /** In the contract's order. */
  inputOf(userId: number, { sequence, targetTick, delta }: PlayerInput): SocketError | null {
    if (this.state === 'over') return 'session_not_found'
    const side = this.sideOf(userId)
    if (this.state === 'closing') return side === null ? 'not_participant' : 'session_closed'
    if (side === null) return 'not_participant'
    return this.game.input({ side, sequence, targetTick, delta }) ? null : 'input_invalid'
  }

  /** To all who hear of it, here and elsewhere. */
  tell(text: string, frame: Buffer): void {
    this.audience.sendFrame(frame)
    if (this.outposts.size === 0) return
    for (const node of this.outposts.nodes()) this.#world.post(node, `event ${this.sessionId} ${text}`)
  }

  #tell(now: number): void {
    const text = this.#write(this.game, this.#world.stamp(now))
    this.tell(text, asciiFrame(text))
  }

  /** After a take-over, until both players are back or have had their time. */
  #isWaiting(now: number): boolean {
    if (this.#waitsUntil === 0) return false
    if (now < this.#waitsUntil && !this.#userIds.every((userId) => this.#isPresent(userId))) return true
    this.#waitsUntil = 0
    return false
  }

  #isPresent(userId: number): boolean {
    return this.outposts.hasUser(userId) || this.audience.clients().some((client) => client.userId === userId)
  }
}
