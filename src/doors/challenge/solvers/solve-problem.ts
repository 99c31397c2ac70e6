// One problem, one answer: by its type, within its constraints. Answers are strings.
import type { Threads } from '../bounded/threads.ts'
import type { Task } from '../bounded/task.ts'
import { isObject, type Fields } from '../signed.ts'
import type { SolvePayload } from '../solve-store.ts'
import type { MathFormat } from './math.ts'
import { Unsolvable } from './unsolvable.ts'

const SOLVE_MS_MAX = 2000
const DECIMAL_DIGITS_DEFAULT = 10
const DECIMAL_DIGITS_MAX = 1000

export type Solution =
  | { status: 'success'; answer: string; metadata: { solver: string } }
  | { status: 'failed'; error_code: string; error_message: string }

export interface SolveContext {
  threads: Threads
  /** The database's clock judges the deadline. */
  nowMs(): Promise<number>
}

/** An unexpected error is thrown, and the job tried again. */
export async function solveProblem(payload: SolvePayload, context: SolveContext): Promise<Solution> {
  try {
    const task = taskOf(payload)
    const answer = await context.threads.run(task, await timeLeftMs(payload, context))
    if (answer.ok) return { status: 'success', answer: String(answer.value), metadata: { solver: task.task } }
    if (answer.code === 'INTERNAL') throw new Error(`The ${task.task} solver failed: ${answer.message}`)
    return { status: 'failed', error_code: answer.code, error_message: answer.message }
  } catch (error) {
    if (!(error instanceof Unsolvable)) throw error
    return { status: 'failed', error_code: error.code, error_message: error.message }
  }
}

async function timeLeftMs({ constraints }: SolvePayload, { nowMs }: SolveContext): Promise<number> {
  const asked = Math.min(constraints.timeout_ms ?? SOLVE_MS_MAX, SOLVE_MS_MAX)
  if (constraints.deadline_ts === undefined) return asked
  const left = constraints.deadline_ts * 1000 - (await nowMs())
  if (left <= 0) throw new Unsolvable('DEADLINE_EXCEEDED', 'The deadline has passed.')
  return Math.min(asked, left)
}

function taskOf({ problem, output_spec: outputSpec }: SolvePayload): Task {
  if (!isObject(problem)) throw new Unsolvable('INVALID_PROBLEM', 'problem must be an object with a type.')
  switch (problem['type']) {
    case 'math': {
      const { expression } = problem
      if (typeof expression !== 'string') throw new Unsolvable('INVALID_PROBLEM', 'expression must be a string.')
      return { task: 'math', expression, format: formatOf(isObject(outputSpec) ? outputSpec : {}) }
    }
    case 'text':
      return { task: 'text', problem }
    case 'captcha':
    case 'code':
      throw new Unsolvable('SOLVER_UNAVAILABLE', `This server has nobody who solves ${problem['type']} problems.`)
    default:
      throw new Unsolvable('UNSUPPORTED_PROBLEM', 'type must be one of math, text, captcha, code.')
  }
}

function formatOf({ format, digits }: Fields): MathFormat {
  const isCount = typeof digits === 'number' && Number.isInteger(digits) && digits >= 1 && digits <= DECIMAL_DIGITS_MAX
  return {
    format: format === 'fraction' || format === 'decimal' ? format : 'auto',
    digits: isCount ? digits : DECIMAL_DIGITS_DEFAULT,
  }
}
