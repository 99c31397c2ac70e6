// A match: one job of the ledger, one session for its players, one result. The three share one id.

export const MATCH_KIND = 'match'

export const MODES = ['normal', 'rated'] as const
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

export const userIdsOf = ({ participants: [a, b] }: Match): [number, number] => [a.userId, b.userId]
