import { LEVELS } from './streams.ts'

const WEIGHTS = [6, 3, 1] as const

export interface Shares {
  /** How many of `slots` each level is offered, highest first. */
  of(slots: number): [high: number, normal: number, low: number]
}

/** Smooth weighted round robin. It goes on where it stopped, so that one slot at a time is shared as fairly as a thousand. */
export function openShares(): Shares {
  const total = WEIGHTS.reduce((sum, weight) => sum + weight, 0)
  const credit = { 1: 0, 2: 0, 3: 0 }
  return {
    of(slots) {
      const share = { 1: 0, 2: 0, 3: 0 }
      for (let slot = 0; slot < slots; slot += 1) {
        for (const level of LEVELS) credit[level] += WEIGHTS[level - 1] ?? 0
        const next = LEVELS.reduce((best, level) => (credit[level] > credit[best] ? level : best))
        credit[next] -= total
        share[next] += 1
      }
      return [share[1], share[2], share[3]]
    },
  }
}
