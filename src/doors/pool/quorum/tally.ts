// What the results of a job's replicas decide. Pure.

/** The vote of every `failed` result: failures agree with each other. */
export const FAILED_VOTE = 'failed'

// A search for results that agree pairwise. Where the rule is equality the first try succeeds; a rule of similarity that makes
// it longer than this counts as no agreement.
const STEPS_MAX = 100_000

export interface Vote {
  /** Null: the result has no vote. */
  vote: string | null
  /** False: its worker is banned. */
  counts: boolean
}

export interface Tally<Counted extends Vote> {
  /** In the order in which they were submitted. */
  votes: readonly Counted[]
  agree(a: Counted, b: Counted): boolean
  quorum: number
  replicas: number
  replicasMax: number
  /** Replicas that exist, ended or not. */
  issued: number
  /** Of those, how many may still bring a vote. */
  outstanding: number
}

export type Decision<Counted extends Vote> =
  /** `winner` is the earliest of the votes that agree. */
  | { what: 'agreed'; winner: Counted }
  /** `count` more replicas are needed. */
  | { what: 'issue'; count: number }
  | { what: 'wait' }
  /** No further replica may be issued, and the results do not agree. */
  | { what: 'split'; results: number; most: number }

export function decide<Counted extends Vote>(tally: Tally<Counted>): Decision<Counted> {
  const { votes, agree, quorum, replicas, replicasMax, issued, outstanding } = tally
  const counted = votes.filter(({ vote, counts }) => vote !== null && counts)
  const largest = largestAgreeing(counted, agree, quorum)
  const [winner] = largest
  if (winner !== undefined && largest.length >= quorum) return { what: 'agreed', winner }
  const most = largest.length
  const missing = issued < replicas ? replicas - issued : quorum - most - outstanding
  const possible = Math.min(missing, replicasMax - issued)
  if (possible > 0) return { what: 'issue', count: possible }
  return outstanding > 0 ? { what: 'wait' } : { what: 'split', results: votes.length, most }
}

/** The first votes, in time, of which `enough` agree pairwise; otherwise the most that do. */
function largestAgreeing<Counted>(
  votes: readonly Counted[],
  agree: (a: Counted, b: Counted) => boolean,
  enough: number,
): readonly Counted[] {
  let best: readonly Counted[] = []
  let steps = 0
  /** True: it need not go on. */
  const extend = (chosen: readonly Counted[], rest: readonly Counted[]): boolean => {
    if (chosen.length > best.length) best = chosen
    if (best.length >= enough) return true
    for (const [index, vote] of rest.entries()) {
      if (chosen.length + rest.length - index <= best.length) return false // cannot become larger
      steps += 1
      if (steps > STEPS_MAX) return true
      const compatible = rest.slice(index + 1).filter((other) => agree(vote, other))
      if (extend([...chosen, vote], compatible)) return true
    }
    return false
  }
  for (const [index, latest] of votes.entries()) {
    const earlier = votes.slice(0, index).filter((other) => agree(other, latest))
    if (extend([latest], earlier)) break
  }
  return best.toSorted((a, b) => votes.indexOf(a) - votes.indexOf(b))
}
