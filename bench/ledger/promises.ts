// What docs/performance.md promises of the ledger, as ratios of medians within one run. `--check` fails where a run stays below.
import { spreadOf } from '../statistics.ts'
import type { Figure } from './measures.ts'
import type { Results } from './report.ts'

interface Promised {
  reeve: string
  peer: string
  figure: Figure
  /** A rate is at least so many times that of the peer. */
  ratio: number
}

const PROMISES: readonly Promised[] = [
  { reeve: 'reeve-postgres', peer: 'graphile-worker', figure: 'oneByOne', ratio: 18 },
  { reeve: 'reeve-postgres', peer: 'bullmq', figure: 'oneByOne', ratio: 2.2 },
  { reeve: 'reeve-postgres', peer: 'graphile-worker', figure: 'bulk', ratio: 2.2 },
  { reeve: 'reeve-postgres', peer: 'bullmq', figure: 'bulk', ratio: 3.6 },
  { reeve: 'reeve-redis', peer: 'graphile-worker', figure: 'oneByOne', ratio: 16 },
  { reeve: 'reeve-redis', peer: 'graphile-worker', figure: 'bulk', ratio: 1.8 },
  { reeve: 'reeve-redis', peer: 'bullmq', figure: 'oneByOne', ratio: 1.9 },
  { reeve: 'reeve-redis', peer: 'bullmq', figure: 'bulk', ratio: 3 },
]

/** A sentence for each promise that this run did not keep. Promises about what was not measured are left out. */
export function brokenPromises(results: Results): string[] {
  const medianOf = (name: string, figure: Figure): number | null => {
    const samples = [...results].find(([contestant]) => contestant.name === name)?.[1].get(figure)
    return samples === undefined ? null : spreadOf(samples).median
  }
  return PROMISES.flatMap(({ reeve, peer, figure, ratio }) => {
    const [mine, theirs] = [medianOf(reeve, figure), medianOf(peer, figure)]
    if (mine === null || theirs === null) return []
    const measured = mine / theirs
    return measured >= ratio ? [] : [`${reeve} / ${peer}, ${figure}: ${measured.toFixed(2)}, promised ${ratio}.`]
  })
}
