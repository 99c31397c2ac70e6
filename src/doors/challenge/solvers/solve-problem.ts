// One problem, one answer: by its type, within its constraints. Answers are strings.
import type { Waiting } from '../../../core/hands/kind.ts'
import type { Acquired } from '../../../core/ledger/job.ts'
import type { Threads } from '../bounded/threads.ts'
import type { Task } from '../bounded/task.ts'
import { isObject, type Fields } from '../signed.ts'
import type { SolvePayload } from '../solve-store.ts'
import { ELSEWHERE, solveElsewhere, type ElsewhereDeps } from './elsewhere.ts'
import type { MathFormat } from './math.ts'
import type { Solution } from './solution.ts'
import { deadlinePassed, Unsolvable } from './unsolvable.ts'

const NOW = `select date_part('epoch', clock_timestamp()) * 1000 as now_ms`

const SOLVE_MS_MAX = 2000
const DECIMAL_DIGITS_DEFAULT = 10
const DECIMAL_DIGITS_MAX = 1000

export interface SolveContext extends ElsewhereDeps {
  threads: Threads
}

/** An unexpected error is thrown, and the job tried again. */
export async function solveProblem(
  job: Acquired,
  payload: SolvePayload,
  context: SolveContext,
): Promise<Solution | Waiting> {
  try {
    const { problem, constraints } = payload
    if (!isObject(problem)) throw new Unsolvable('INVALID_PROBLEM', 'problem must be an object with a type.')
    const { type } = problem
    if (typeof type === 'string' && ELSEWHERE.includes(type)) {
      return await solveElsewhere(context, job, { type, problem, constraints })
    }
    return await solveHere(taskOf(problem, payload.output_spec), payload, context)
  } catch (error) {
    if (!(error instanceof Unsolvable)) throw error
    return { status: 'failed', error_code: error.code, error_message: error.message }
  }
}

async function solveHere(task: Task, payload: SolvePayload, context: SolveContext): Promise<Solution> {
  const answer = await context.threads.run(task, await timeLeftMs(payload, context))
  if (answer.ok) return { status: 'success', answer: String(answer.value), metadata: { solver: task.task } }
  if (answer.code === 'INTERNAL') throw new Error(`The ${task.task} solver failed: ${answer.message}`)
  return { status: 'failed', error_code: answer.code, error_message: answer.message }
}

/** The database's clock judges the deadline. */
async function timeLeftMs({ constraints }: SolvePayload, { database }: SolveContext): Promise<number> {
  const asked = Math.min(constraints.timeout_ms ?? SOLVE_MS_MAX, SOLVE_MS_MAX)
  if (constraints.deadline_ts === undefined) return asked
  const [row] = await database.query<{ now_ms: number }>(NOW)
  const left = constraints.deadline_ts * 1000 - (row?.now_ms ?? Infinity)
  if (left <= 0) throw deadlinePassed()
  return Math.min(asked, left)
}

function taskOf(problem: Fields, outputSpec: unknown): Task {
  switch (problem['type']) {
    case 'math': {
      const { expression } = problem
      if (typeof expression !== 'string') throw new Unsolvable('INVALID_PROBLEM', 'expression must be a string.')
      return { task: 'math', expression, format: formatOf(isObject(outputSpec) ? outputSpec : {}) }
    }
    case 'text':
      return { task: 'text', problem }
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
