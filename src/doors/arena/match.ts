// A match: one job of the ledger, one session for its players, one result. The three share one id.

export const MATCH_KIND = 'match'

export const MODES = ['normal', 'rated', 'private', 'bot'] as const
export type Mode = (typeof MODES)[number]

export interface Rating {
  rating: number
  rd: number
  volatility: number
  /** Number of rated games so far. */
  games: number
}

export interface Participant extends Rating {
  userId: number
  username: string
  isGuest: boolean
}

export interface Match {
  matchId: string
  mode: Mode
  /** With the ratings that they had when they were paired. */
  participants: readonly [Participant, Participant]
  ticks: number
  tickIntervalMs: number
  /** ISO-8601. */
  createdAt: string
}

/** The built-in opponent. No account has this id. */
export const BOT: Participant = {
  userId: 0,
  username: 'bot',
  isGuest: false,
  rating: 1500,
  rd: 350,
  volatility: 0.06,
  games: 0,
}

/** Private matches, and matches of a guest or the bot, move no rating. */
export const isRated = ({ mode, participants }: Pick<Match, 'mode' | 'participants'>): boolean =>
  mode !== 'private' && mode !== 'bot' && !participants.some(({ isGuest }) => isGuest)

/** An email address is not shown to others. Null: the account was deleted. */
export function shownName(userId: number, username: string | null): string {
  if (userId === BOT.userId) return BOT.username
  return username === null || username.includes('@') ? `player-${userId}` : username
}

export const userIdsOf = ({ participants: [a, b] }: Match): [number, number] => [a.userId, b.userId]
