// The tasks of a bounded thread. Any computation that untrusted input could make slow is one of these.
import { RE2JS } from 're2js'
import { compareAnswer, type AnswerComparison } from '../challenger/validation-rule.ts'
import { solveMath, type MathFormat } from '../problems/math.ts'
import { solveText, type TextProblem } from '../problems/text.ts'

export type Task =
  | { task: 'math'; expression: string; format: MathFormat }
  | { task: 'text'; problem: TextProblem }
  /** Whether a given answer is correct. */
  | ({ task: 'compare' } & AnswerComparison)
  /** Whether the pattern is valid. */
  | { task: 'compile'; pattern: string }

export type TaskValue = string | boolean

export function perform(task: Task): TaskValue {
  switch (task.task) {
    case 'math':
      return solveMath(task.expression, task.format)
    case 'text':
      return solveText(task.problem)
    case 'compare':
      return compareAnswer(task)
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
