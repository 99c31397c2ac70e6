// What docs/arena.md promises of processor time, checked with --check.
import type { Cost } from './processor.ts'

/** Processor time of the other server divided by that of Reeve, at least. */
const RATIO_MIN: Readonly<Record<string, number>> = { 'Plain ws': 0.8, Colyseus: 1.3 }

export interface Ratio {
  title: string
  ratio: number
  /** Null: nothing is promised. */
  min: number | null
}

export function ratiosOf(costs: readonly Cost[]): Ratio[] {
  const own = costs.find(({ title }) => title === 'Reeve')
  if (own === undefined) return []
  return costs
    .filter((cost) => cost !== own)
    .map(({ title, cpuPercent }) => ({ title, ratio: cpuPercent / own.cpuPercent, min: RATIO_MIN[title] ?? null }))
}

export function assertPromises(costs: readonly Cost[]): void {
  const broken = ratiosOf(costs)
    .filter(({ ratio, min }) => min !== null && ratio < min)
    .map(({ title, ratio, min }) => `${title} takes ${ratio.toFixed(2)} times the processor time of Reeve, not ${min}`)
  if (costs.length === 0) broken.push('nothing was measured: --check needs --measure processor')
  if (broken.length > 0) throw new Error(`Not as docs/arena.md promises: ${broken.join('; ')}.`)
}
