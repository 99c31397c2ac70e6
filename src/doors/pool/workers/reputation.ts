// A worker's reputation, from what the server has seen itself: canaries with known answers, and how often the worker's
// replicas agreed with the others. Nothing that a worker declares about itself counts.
//
//   score = (1 + passed + agreed) / (2 + passed + agreed + 3 · disagreed + 10 · wrong)
//
// It starts at 0.5. A worker is trusted while its score is at least 0.6 and it has passed POOL_PROBATION_CANARIES canaries (or
// as many as there are for it) since others last disagreed with it. A worker that earns trust in order to cheat loses it with
// the first wrong result that others do not share. Without canaries there is nothing to prove, and every worker is trusted.

const DISAGREED_WEIGHT = 3
const WRONG_WEIGHT = 10
const TRUSTED_SCORE_MIN = 0.6

export interface TrackRecord {
  passed: number
  wrong: number
  agreed: number
  disagreed: number
  /** Canaries passed since others last disagreed with it. */
  proven: number
}

export type Standing = 'banned' | 'probation' | 'trusted'

export function scoreOf({ passed, wrong, agreed, disagreed }: TrackRecord): number {
  const good = passed + agreed
  return (1 + good) / (2 + good + DISAGREED_WEIGHT * disagreed + WRONG_WEIGHT * wrong)
}

/** `canaries`: how many there are that it could be given. */
export function isTrusted(record: TrackRecord, canaries: number, probation: number): boolean {
  if (canaries === 0) return true
  return record.proven >= Math.min(probation, canaries) && scoreOf(record) >= TRUSTED_SCORE_MIN
}
