// What the arena sends, field for field.

export type ArenaMode = 'normal' | 'rated' | 'private' | 'bot'

/** The user id of the built-in bot. */
export const BOT_USER_ID = 0

export interface ArenaUser {
  userId: number
  username: string
}

export interface ArenaProfile extends ArenaUser {
  rating: number
  wins: number
  losses: number
  matches: number
}

export interface PublicProfile extends ArenaProfile {
  /** Null: no rated match yet. */
  rank: number | null
}

export type FoundPlayer = Pick<ArenaProfile, 'userId' | 'username' | 'rating'>

export interface LeaderboardEntry extends ArenaProfile {
  rank: number
}

export interface Leaderboard {
  page: number
  size: number
  total: number
  entries: LeaderboardEntry[]
}

export interface PlayerState {
  userId: number
  position: number
  /** The last of the player's inputs that was accepted. */
  lastSequence: number
}

export interface SessionState {
  sessionId: string
  tick: number
  players: PlayerState[]
}

export interface SessionResult {
  /** Null: a draw. */
  winnerUserId: number | null
  ticks: number
}

export interface SessionEnded {
  sessionId: string
  reason: 'completed' | 'resigned' | 'void'
  /** Null for a void match. */
  result: SessionResult | null
}

export interface SessionView extends SessionState {
  createdAt: string
  participants: ArenaUser[]
  tickIntervalMs: number
  ticks: number
}

export interface Snapshot {
  version: number
  state: 'auth_only' | 'in_session'
  issuedAt: string
  user: ArenaUser
  session?: SessionView
  queue?: { mode: ArenaMode; expiresAt: string }
}

export interface MatchPlayer extends ArenaUser {
  position: number | null
  ratingBefore: number | null
  ratingAfter: number | null
}

export interface Match {
  matchId: string
  mode: ArenaMode
  reason: 'completed' | 'resigned' | 'void'
  result: SessionResult | null
  ticks: number
  tickIntervalMs: number
  players: [MatchPlayer, MatchPlayer]
  createdAt: string
  finishedAt: string
}

export interface MatchWithReplay extends Match {
  /** For `unpackInputs(replayBytes(inputs))` of `@reeve/sdk/arena-replay`. `kept` false: the server has deleted the inputs. */
  replay: { format: string; inputs: string; kept: boolean }
}

export interface LiveMatch {
  matchId: string
  mode: ArenaMode
  participants: ArenaUser[]
  tick: number
  ticks: number
  createdAt: string
}

export interface RatingChange {
  game: number
  matchId: string
  opponentUserId: number
  score: number
  ratingBefore: number
  ratingAfter: number
  deviationAfter: number
  at: string
}

export interface Joined {
  queued: true
  mode: ArenaMode
  expiresAt: string
}

/** A player asks for another match against the same opponent. */
export interface RematchWanted {
  /** The match that has ended. */
  sessionId: string
  userId: number
}

/** Every message of the WebSocket. */
export interface Envelope {
  t: 'event' | 'error'
  seq: number
  event: string | null
  p: unknown
}

/** No connection, or no answer over it. */
export class ArenaConnectionError extends Error {
  override name = 'ArenaConnectionError'
}

/** Something that the server refused over the WebSocket. */
export class ArenaError extends Error {
  override name = 'ArenaError'
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}
