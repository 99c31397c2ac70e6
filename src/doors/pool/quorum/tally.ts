// What the results of a job's replicas decide. Pure.

/** The vote of every `failed` result: failures agree with each other. */
export const FAILED_VOTE = 'failed'

export interface Vote {
  /** Null: the result has no vote. */
  vote: string | null
  /** False: its worker is banned. */
  counts: boolean
}

export interface Tally {
  votes: readonly Vote[]
  quorum: number
  replicas: number
  replicasMax: number
  /** Replicas that exist, ended or not. */
  issued: number
  /** Of those, how many may still bring a vote. */
  outstanding: number
}

export type Decision =
  | { what: 'agreed'; vote: string; failed: boolean }
  /** `count` more replicas are needed. */
  | { what: 'issue'; count: number }
  | { what: 'wait' }
  /** No further replica may be issued, and the results do not agree. */
  | { what: 'split'; results: number; most: number }

export function decide({ votes, quorum, replicas, replicasMax, issued, outstanding }: Tally): Decision {
  const counts = new Map<string, number>()
  for (const { vote, counts: isCounted } of votes) {
    if (vote === null || !isCounted) continue
    const count = (counts.get(vote) ?? 0) + 1
    counts.set(vote, count)
    if (count >= quorum) return { what: 'agreed', vote, failed: vote === FAILED_VOTE }
  }
  const most = Math.max(0, ...counts.values())
  const missing = issued < replicas ? replicas - issued : quorum - most - outstanding
  const possible = Math.min(missing, replicasMax - issued)
  if (possible > 0) return { what: 'issue', count: possible }
  return outstanding > 0 ? { what: 'wait' } : { what: 'split', results: votes.length, most }
}
