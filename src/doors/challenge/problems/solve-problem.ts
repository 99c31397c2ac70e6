// Solves one problem by its type, within its constraints. Answers are strings.
import { isObject } from '../../../core/values/is-object.ts'
import type { WaitsForJob } from '../../../core/executor/kind.ts'
import type { Acquired } from '../../../core/ledger/job.ts'
import { WALL_MS_MAX, type Bound, type Threads } from '../bounded/threads.ts'
import type { Task } from '../bounded/task.ts'
import type { JsonObject } from '../signing/verify.ts'
import type { Plugins } from './plugins.ts'
import type { Constraints } from '../solver/constraints.ts'
import type { SolvePayload } from '../solver/accept.ts'
import { ELSEWHERE, solveElsewhere, type ElsewhereDeps } from './other-doors.ts'
import type { MathFormat } from './math.ts'
import { deadlinePassed, solved, UnsolvableProblem, type CallbackOutcome } from './solution.ts'

const NOW = `select date_part('epoch', clock_timestamp()) * 1000 as now_ms`

const SOLVE_MS_MAX = 2000
const DECIMAL_DIGITS_DEFAULT = 10
const DECIMAL_DIGITS_MAX = 1000

export interface SolveContext extends ElsewhereDeps {
  threads: Threads
  plugins: Plugins
  /** Time limit of one problem that a plug-in solves. */
  pluginMsMax: number
  signal: AbortSignal
}

/** Solved here or by another door, unless a plug-in takes the type over. */
const BUILT_IN: readonly string[] = ['math', 'text', ...ELSEWHERE]

/** Throws unexpected errors: the job is retried. */
export async function solveProblem(
  job: Acquired,
  payload: SolvePayload,
  context: SolveContext,
): Promise<CallbackOutcome | WaitsForJob> {
  try {
    const { problem, constraints } = payload
    if (!isObject(problem)) throw new UnsolvableProblem('INVALID_PROBLEM', 'problem must be an object with a type.')
    const { type } = problem
    if (typeof type === 'string' && context.plugins.types.includes(type)) {
      const asked = {
        type,
        problem: { ...problem, type },
        challengeId: payload.challenge_id,
        outputSpec: payload.output_spec,
      }
      const timeoutMs = await timeLeftMs(constraints, context.pluginMsMax, context)
      return await context.plugins.solve(asked, { timeoutMs, signal: context.signal })
    }
    if (typeof type === 'string' && ELSEWHERE.includes(type)) {
      return await solveElsewhere(context, job, { type, problem, constraints })
    }
    const task = taskOf(problem, payload.output_spec, context.plugins.types)
    const wallMs = await timeLeftMs(constraints, WALL_MS_MAX, context)
    return await solveHere(task, { cpuMs: SOLVE_MS_MAX, wallMs }, context)
  } catch (error) {
    if (!(error instanceof UnsolvableProblem)) throw error
    return { status: 'failed', error_code: error.code, error_message: error.message }
  }
}

async function solveHere(task: Task, bound: Bound, { threads }: SolveContext): Promise<CallbackOutcome> {
  const started = performance.now()
  const answer = await threads.run(task, bound)
  if (answer.ok) return solved(task.task, String(answer.value), performance.now() - started)
  if (answer.code === 'INTERNAL') throw new Error(`The ${task.task} solver failed: ${answer.message}`)
  return { status: 'failed', error_code: answer.code, error_message: answer.message }
}

/** The deadline is checked against the database's clock. */
async function timeLeftMs(constraints: Constraints, mostMs: number, { database }: SolveContext): Promise<number> {
  const asked = Math.min(constraints.timeout_ms ?? mostMs, mostMs)
  if (constraints.deadline_ts === undefined) return asked
  const [row] = await database.query<{ now_ms: number }>(NOW)
  const left = constraints.deadline_ts * 1000 - (row?.now_ms ?? Infinity)
  if (left <= 0) throw deadlinePassed()
  return Math.min(asked, left)
}

function taskOf(problem: JsonObject, outputSpec: unknown, further: readonly string[]): Task {
  switch (problem['type']) {
    case 'math':
      return { task: 'math', ...mathOf(problem, isObject(outputSpec) ? outputSpec : {}) }
    case 'text':
      return { task: 'text', problem: emptied(problem) }
    default:
      throw new UnsolvableProblem('UNSUPPORTED_PROBLEM', `type must be one of ${[...BUILT_IN, ...further].join(', ')}.`)
  }
}

/** Operations read texts and numbers. The contents of any container would only be copied to the thread, which blocks this one. */
const emptied = (problem: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(problem).map(([name, value]) => [name, isObject(value) || Array.isArray(value) ? {} : value]))

const OPERATORS = new Map([
  ['add', '+'],
  ['subtract', '-'],
  ['multiply', '*'],
  ['divide', '/'],
])

/** An expression, or an operation on two numbers whose result has two decimals. */
function mathOf(problem: JsonObject, outputSpec: JsonObject): { expression: string; format: MathFormat } {
  const { expression, operation, a, b } = problem
  if (operation === undefined || expression !== undefined) {
    if (typeof expression !== 'string') throw new UnsolvableProblem('INVALID_PROBLEM', 'expression must be a string.')
    return { expression, format: formatOf(outputSpec) }
  }
  const operator = OPERATORS.get(String(operation))
  if (operator === undefined || !Number.isFinite(a) || !Number.isFinite(b)) {
    const expected = `operation must be one of ${[...OPERATORS.keys()].join(', ')}, and a and b numbers.`
    throw new UnsolvableProblem('INVALID_PROBLEM', expected)
  }
  return { expression: `(${a}) ${operator} (${b})`, format: { format: 'decimal', digits: 2 } }
}

function formatOf({ format, digits }: JsonObject): MathFormat {
  const isCount = typeof digits === 'number' && Number.isInteger(digits) && digits >= 1 && digits <= DECIMAL_DIGITS_MAX
  return {
    format: format === 'fraction' || format === 'decimal' ? format : 'auto',
    digits: isCount ? digits : DECIMAL_DIGITS_DEFAULT,
  }
}
