import type { SessionEnded } from '@reeve/sdk/arena'
import type { Stated } from '../../parts/data/state-badge.tsx'

/** How a match ended for this player. */
export function verdictOf({ reason, result }: Pick<SessionEnded, 'reason' | 'result'>, userId: number): Stated {
  if (reason === 'void' || result === null) return { tone: 'quiet', word: 'Void' }
  if (result.winnerUserId === null) return { tone: 'quiet', word: 'Draw' }
  return result.winnerUserId === userId ? { tone: 'good', word: 'Won' } : { tone: 'bad', word: 'Lost' }
}
