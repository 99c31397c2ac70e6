// What the thread of bounded work can do. Everything that a stranger's input could make slow is one of these.
import { RE2JS } from 're2js'
import { solveMath, type MathFormat } from '../solvers/math.ts'
import { solveText, type TextProblem } from '../solvers/text.ts'

export type Task =
  | { task: 'math'; expression: string; format: MathFormat }
  | { task: 'text'; problem: TextProblem }
  /** Whether the pattern is found in the text. */
  | { task: 'match'; pattern: string; text: string }
  /** Whether the pattern is one. */
  | { task: 'compile'; pattern: string }

export function perform(task: Task): string | boolean {
  switch (task.task) {
    case 'math':
      return solveMath(task.expression, task.format)
    case 'text':
      return solveText(task.problem)
    case 'match':
      return RE2JS.compile(task.pattern).matcher(task.text).find()
    case 'compile':
      return isPattern(task.pattern)
  }
}

function isPattern(pattern: string): boolean {
  try {
    RE2JS.compile(pattern)
    return true
  } catch {
    return false
  }
}
