// Glicko-2, updated after every game. The deviation has a floor, so that the rating of a frequent player still moves.
import type { Side } from '@reeve/sdk/arena-replay'
import rate from 'glicko2-lite'
import type { Rating } from '../match.ts'

const RD_MIN = 45

/** 1: won; 0: lost; 0.5: a draw. */
export type Score = 0 | 0.5 | 1

export const scoreOf = (side: Side, winner: Side | null): Score => (winner === null ? 0.5 : winner === side ? 1 : 0)

/** The rating after one game, from both players' ratings before it. */
export function ratingAfter(own: Rating, opponent: Rating, score: Score): Rating {
  const { rating, rd, vol } = rate(own.rating, own.rd, own.volatility, [[opponent.rating, opponent.rd, score]])
  return { rating, rd: Math.max(RD_MIN, rd), volatility: vol, games: own.games + 1 }
}
