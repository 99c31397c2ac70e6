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

/** The problem has no answer here, and another attempt will find none: the Challenger is told the code. */
export class Unsolvable extends Error {
  override name = 'Unsolvable'
  readonly code: UnsolvableCode

  constructor(code: UnsolvableCode, message: string) {
    super(message)
    this.code = code
  }
}

export const deadlinePassed = (): Unsolvable => new Unsolvable('DEADLINE_EXCEEDED', 'The deadline has passed.')
