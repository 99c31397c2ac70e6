// The tasks of a bounded thread. Any computation that untrusted input could make slow is one of these.
import { RE2JS } from 're2js'
import { compareAnswer, type AnswerComparison } from '../challenger/validation-rule.ts'
import { readBody, type ParsedBody } from '../signing/read-body.ts'
import { solveMath, type MathFormat } from '../problems/math.ts'
import { solveText, type TextProblem } from '../problems/text.ts'

export type Task =
  | { task: 'math'; expression: string; format: MathFormat }
  | { task: 'text'; problem: TextProblem }
  /** Whether a given answer is correct. */
  | ({ task: 'compare' } & AnswerComparison)
  /** Whether the pattern is valid. */
  | { task: 'compile'; pattern: string }
  /** Parses a large request body. */
  | { task: 'read'; bytes: Uint8Array<ArrayBuffer> }

export type TaskValue = string | boolean | ParsedBody

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
    case 'read':
      return readBody(task.bytes)
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
