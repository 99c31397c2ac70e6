/** What the callback says about a solved or unsolvable problem: it is spread into the callback's body. */
export type CallbackOutcome =
  | { status: 'success'; answer: string; metadata: Readonly<Record<string, unknown>> }
  | { status: 'failed'; error_code: string; error_message: string }

/** `computeMs`: how long solving took. */
export const solved = (solver: string, answer: string, computeMs: number, more: object = {}): CallbackOutcome => ({
  status: 'success',
  answer,
  metadata: { ...more, solver, compute_time_ms: Math.round(computeMs) },
})

/** Limit of a challenge's expected answer, and therefore of any answer that could match it. */
export const ANSWER_CHARS_MAX = 1_000_000

export type UnsolvableCode =
  | 'INVALID_PROBLEM'
  | 'UNSUPPORTED_PROBLEM'
  | 'SOLVER_UNAVAILABLE'
  | 'NOT_A_NUMBER'
  | 'DIVISION_BY_ZERO'
  | 'TOO_LARGE'
  | 'NO_MATCH'
  | 'TIMEOUT'
  | 'DEADLINE_EXCEEDED'

/** The problem has no answer and a retry would not find one. The Challenger receives the code. */
export class UnsolvableProblem extends Error {
  override name = 'UnsolvableProblem'
  readonly code: UnsolvableCode

  constructor(code: UnsolvableCode, message: string) {
    super(message)
    this.code = code
  }
}

export const deadlinePassed = (): UnsolvableProblem =>
  new UnsolvableProblem('DEADLINE_EXCEEDED', 'The deadline has passed.')
