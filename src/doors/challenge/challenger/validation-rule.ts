// Whether an answer is correct, by the challenge's validation rule (clauses 6.5 to 6.8). A rule is checked when the challenge
// is created, so that an invalid one is refused there and not when the answer arrives.
import { isObject } from '../../../core/values/is-object.ts'
import { RE2JS } from 're2js'
import type { Threads } from '../bounded/threads.ts'
import { ANSWER_CHARS_MAX } from '../problems/solution.ts'
import type { JsonObject } from '../signing/verify.ts'
import { isWithin, parseDecimal } from './decimal.ts'
import { isSameFolded } from './fold-case.ts'

const PATTERN_CHARS_MAX = 1024
const COMPILE_MS_MAX = 5000 // the most expensive pattern of 1 KB takes 2 % of this on an idle core
const COMPARE_MS_MAX = 2000
const INLINE_CHARS_MAX = 2000 // longer texts are compared in a thread

export type Rule =
  | { type: 'ExactMatch'; caseSensitive: boolean }
  | { type: 'NumericTolerance'; tolerance: number }
  | { type: 'Regex'; pattern: string }

/** A string says what is wrong with the rule. */
export function parseRule(value: unknown): Rule | string {
  if (!isObject(value)) return 'validation_rule must be an object with a type.'
  const params = value['params'] ?? {}
  if (!isObject(params)) return 'validation_rule.params must be an object.'
  switch (value['type']) {
    case 'ExactMatch':
      return exactMatch(params)
    case 'NumericTolerance':
      return numericTolerance(params)
    case 'Regex':
      return regex(params)
    default:
      return 'validation_rule.type must be one of ExactMatch, NumericTolerance, Regex.'
  }
}

function exactMatch({ case_sensitive: caseSensitive = true }: JsonObject): Rule | string {
  if (typeof caseSensitive !== 'boolean') return 'case_sensitive must be true or false.'
  return { type: 'ExactMatch', caseSensitive }
}

function numericTolerance({ tolerance = 0 }: JsonObject): Rule | string {
  const isDistance = typeof tolerance === 'number' && Number.isFinite(tolerance) && tolerance >= 0
  return isDistance ? { type: 'NumericTolerance', tolerance } : 'tolerance must be a number from 0.'
}

function regex({ pattern }: JsonObject): Rule | string {
  const isShort = typeof pattern === 'string' && pattern !== '' && pattern.length <= PATTERN_CHARS_MAX
  return isShort ? { type: 'Regex', pattern } : `pattern must be a string of 1 to ${PATTERN_CHARS_MAX} characters.`
}

/** Why the rule cannot be applied, or could never accept the challenge's own answer; null: it is valid. */
export async function problemWithRule(rule: Rule, answer: string, threads: Threads): Promise<string | null> {
  if (rule.type === 'NumericTolerance' && parseDecimal(answer) === null) return 'answer must be a number for this rule.'
  if (rule.type !== 'Regex') return null
  const compiled = await threads.run({ task: 'compile', pattern: rule.pattern }, { cpuMs: COMPILE_MS_MAX })
  if (compiled.ok && compiled.value === true) return null
  const isSlow = !compiled.ok && compiled.code === 'TIMEOUT'
  return isSlow ? 'pattern takes too long to compile.' : 'pattern is not a regular expression of RE2.'
}

/** An answer that cannot be compared within the time limit is wrong. */
export async function isCorrect(rule: Rule, expected: string, given: string, threads: Threads): Promise<boolean> {
  if (rule.type === 'ExactMatch' && rule.caseSensitive) return given === expected
  const comparison = { task: 'compare', rule, expected, given } as const
  if (rule.type !== 'Regex' && expected.length + given.length <= INLINE_CHARS_MAX) return compareAnswer(comparison)
  const compared = await threads.run(comparison, { cpuMs: COMPARE_MS_MAX })
  return compared.ok && compared.value === true
}

export interface AnswerComparison {
  rule: Rule
  expected: string
  given: string
}

export function compareAnswer({ rule, expected, given }: AnswerComparison): boolean {
  switch (rule.type) {
    case 'ExactMatch':
      return rule.caseSensitive ? given === expected : isSameFolded(given, expected)
    case 'NumericTolerance':
      return isWithinTolerance(expected, given, rule.tolerance)
    case 'Regex':
      return RE2JS.compile(rule.pattern).matcher(given).find()
  }
}

/** The tolerance is the decimal that its JSON says: 0.1 is a tenth, not the nearest binary fraction. */
function isWithinTolerance(expected: string, given: string, tolerance: number): boolean {
  if (given.length > ANSWER_CHARS_MAX) return false
  const [right, answer, most] = [parseDecimal(expected), parseDecimal(given), parseDecimal(String(tolerance))]
  return right !== null && answer !== null && most !== null && isWithin(right, answer, most)
}
