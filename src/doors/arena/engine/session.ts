// A match while it runs, on the node that holds its job's lease. Ticks and inputs use no database: at each tick the game
// advances, its state is encoded once, and the same frame goes to every socket on this node and the same message to every
// other node that has a player or a spectator of the session.
//
//   running ──last tick──► closing ──committed──► over
//      └───cancelled, or acquired by another node───┘
import type { Side } from '@reeve/sdk/arena-replay'
import type { Held } from '../../../core/ledger/job.ts'
import type { SocketError } from '../errors.ts'
import { BOT, userIdsOf, type Match } from '../match.ts'
import { eventText } from '../wire.ts'
import { Audience, type Client } from './audience.ts'
import { playBot } from './bot.ts'
import { asciiTextOf, textFrame } from './frame.ts'
import type { Game } from './game.ts'
import { PeerNodes } from './peer-nodes.ts'
import { StateFrames } from './state-frames.ts'
import type { SendToNode } from '../cluster/messages.ts'
import { Timed, type Wheel } from './wheel.ts'

/** A process that was suspended catches up on at most this much; beyond it the match continues from the present. */
const CATCH_UP_MS = 1000
/** How long a match that was taken over waits for its players to reconnect. */
const RESUME_WAIT_MS = 3000

export interface PlayerInput {
  sequence: number
  targetTick: number
  delta: number
}

/** A session as a socket of this node uses it, whether it runs here or on another node. */
export interface VisibleSession {
  readonly sessionId: string
  readonly audience: Audience
  /** Carried by pings. Null: unknown on this node. */
  readonly tick: number | null
  isParticipant(userId: number): boolean
  /** Why the input is refused, or null. The refusal of a remote session arrives later, as a message. */
  input(client: Client, seq: number, input: PlayerInput): SocketError | null
  resign(client: Client, seq: number): SocketError | null
  notePresence(userId: number, isPresent: boolean): void
}

export interface SessionWorld {
  wheel: Wheel
  /** ISO-8601; the same text for everything in one turn of the wheel. */
  stamp(now: number): string
  send: SendToNode
  /** The game is over and its result must be recorded. */
  onLastTick(session: Session): void
}

export class Session extends Timed implements VisibleSession {
  readonly match: Match
  readonly game: Game
  readonly audience = new Audience()
  readonly peerNodes = new PeerNodes()
  /** The attempt that may record the result. Acquiring the job again replaces it. */
  held: Held
  state: 'running' | 'closing' | 'over' = 'running'
  /** How much of the record is in the database. Null: unknown, so the next snapshot writes all of it. */
  saved: { tick: number; bytes: number } | null
  /** Who has resigned. */
  resigned: Side | null = null
  readonly #absent = new Set<number>()
  readonly #world: SessionWorld
  readonly #userIds: readonly [number, number]
  /** Null: both are people. */
  readonly #botSide: Side | null
  readonly #states: StateFrames
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
    this.#botSide = this.sideOf(BOT.userId)
    this.#states = new StateFrames(match)
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
      if (this.#botSide !== null) playBot(this.game, this.#botSide)
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

  /** The order of the checks is clause 5.4 of docs/arena.md. */
  inputOf(userId: number, { sequence, targetTick, delta }: PlayerInput): SocketError | null {
    if (this.state === 'over') return 'session_not_found'
    const side = this.sideOf(userId)
    if (this.state === 'closing') return side === null ? 'not_participant' : 'session_closed'
    if (side === null) return 'not_participant'
    return this.game.input({ side, sequence, targetTick, delta }) ? null : 'input_invalid'
  }

  /** Ends the game: the other player wins. */
  resign(client: Client): SocketError | null {
    return this.resignOf(client.userId)
  }

  resignOf(userId: number): SocketError | null {
    if (this.state === 'over') return 'session_not_found'
    const side = this.sideOf(userId)
    if (side === null) return 'not_participant'
    if (this.state === 'closing') return 'session_closed'
    this.resigned = side
    this.state = 'closing'
    this.#world.onLastTick(this)
    return null
  }

  /** Tells everyone that a player's last connection closed, or that the player is back. */
  notePresence(userId: number, isPresent: boolean): void {
    if (this.state !== 'running' || !this.isParticipant(userId) || this.#absent.has(userId) !== isPresent) return
    if (isPresent) this.#absent.delete(userId)
    else this.#absent.add(userId)
    const text = eventText(isPresent ? 'opponent.back' : 'opponent.left', { sessionId: this.sessionId, userId })
    this.audience.sendFrame(textFrame(text))
    this.#tellNodes(text)
  }

  /** Sends the state to everyone who follows the session, on this node and on others. */
  #tell(now: number): void {
    const frame = this.#states.next(this.game, this.#world.stamp(now))
    this.audience.sendFrame(frame)
    if (this.peerNodes.size > 0) this.#tellNodes(asciiTextOf(frame))
  }

  #tellNodes(text: string): void {
    const event = { type: 'event', sessionId: this.sessionId, text } as const
    for (const node of this.peerNodes.nodes()) this.#world.send(node, event)
  }

  /** After a takeover, until both players are back or RESUME_WAIT_MS has passed. */
  #isWaiting(now: number): boolean {
    if (this.#waitsUntil === 0) return false
    if (now < this.#waitsUntil && !this.#userIds.every((userId) => this.#isPresent(userId))) return true
    this.#waitsUntil = 0
    return false
  }

  #isPresent(userId: number): boolean {
    if (userId === BOT.userId) return true
    return this.peerNodes.hasUser(userId) || this.audience.clients().some((client) => client.userId === userId)
  }
}
