// Your own solvers for a Reeve that acts as Solver: a module that exports `solvers`, named in SOLVER_PLUGINS.
//
//   import { defineSolvers, Unsolvable } from '@reeve/sdk/solvers'
//
//   export const solvers = defineSolvers({
//     async sudoku(problem, { signal }) { … return '534678912…' },
//   })

export interface SolverProblem {
  type: string
  /** As the Challenger wrote it: check what you use. */
  [field: string]: unknown
}

export interface SolverContext {
  challengeId: string
  /** What the answer should look like, as the Challenger wrote it. */
  outputSpec: unknown
  /** Aborts when the time is up or nobody wants the answer any more: stop then. */
  signal: AbortSignal
}

/**
 * The answer. Throw `Unsolvable` for a problem that has none: the Challenger is told. After any other error the problem is
 * tried again later.
 */
export type Solver = (problem: SolverProblem, context: SolverContext) => string | Promise<string>

/** By the type of problem. */
export type Solvers = Readonly<Record<string, Solver>>

/** Only for its types. */
export const defineSolvers = <S extends Solvers>(solvers: S): S => solvers

/** The problem has no answer, and another attempt would not find one. */
export class Unsolvable extends Error {
  override name = 'Unsolvable'
  /** For programs: capitals, digits and underscores. Becomes `error_code` of the callback. */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}
