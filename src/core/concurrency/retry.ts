import { jitter } from '../random.ts'

export interface RetryPolicy {
  baseMs: number
  maxMs: number
}

const SPREAD = 0.15

/** Doubles with each attempt up to a limit, with jitter so that jobs that failed together do not retry together. */
export function retryWaitMs(attemptId: number, { baseMs, maxMs }: RetryPolicy): number {
  return Math.min(maxMs, jitter(baseMs * 2 ** Math.min(attemptId - 1, 30), SPREAD))
}
