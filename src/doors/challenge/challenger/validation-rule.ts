// Whether an answer is right: by the challenge's own rule, on the Challenger's side only. A rule is read when the challenge
// is created, so that a bad one is refused there and not when the answer comes.
import { isObject } from '../../../core/is-object.ts'
import type { Threads } from '../bounded/threads.ts'
import type { Fields } from '../signing/verify.ts'

const PATTERN_CHARS_MAX = 1024
const COMPILE_MS_MAX = 5000 // the worst of a kilobyte takes a fiftieth of it on an idle core
const MATCH_MS_MAX = 2000
const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?$/
const NUMBER_CHARS_MAX = 400

export type Rule =
  | { type: 'ExactMatch'; caseSensitive: boolean }
  | { type: 'NumericTolerance'; tolerance: number }
  | { type: 'Regex'; pattern: string }

/** A sentence: what is wrong with it. */
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

function exactMatch({ case_sensitive: caseSensitive = true }: Fields): Rule | string {
  if (typeof caseSensitive !== 'boolean') return 'case_sensitive must be true or false.'
  return { type: 'ExactMatch', caseSensitive }
}

function numericTolerance({ tolerance }: Fields): Rule | string {
  const isDistance = typeof tolerance === 'number' && Number.isFinite(tolerance) && tolerance >= 0
  return isDistance ? { type: 'NumericTolerance', tolerance } : 'tolerance must be a number from 0.'
}

function regex({ pattern }: Fields): Rule | string {
  const isShort = typeof pattern === 'string' && pattern !== '' && pattern.length <= PATTERN_CHARS_MAX
  return isShort ? { type: 'Regex', pattern } : `pattern must be a string of 1 to ${PATTERN_CHARS_MAX} characters.`
}

/** A rule that could never accept the challenge's own answer, or that cannot be applied, is refused. */
export async function problemWithRule(rule: Rule, answer: string, threads: Threads): Promise<string | null> {
  if (rule.type === 'NumericTolerance' && numberOf(answer) === null) return 'answer must be a number for this rule.'
  if (rule.type !== 'Regex') return null
  const compiled = await threads.run({ task: 'compile', pattern: rule.pattern }, { cpuMs: COMPILE_MS_MAX })
  if (compiled.ok && compiled.value === true) return null
  const isSlow = !compiled.ok && compiled.code === 'TIMEOUT'
  return isSlow ? 'pattern takes too long to compile.' : 'pattern is not a regular expression of RE2.'
}

/** A regular expression that takes too long has not matched. */
export async function isCorrect(rule: Rule, expected: string, given: string, threads: Threads): Promise<boolean> {
  switch (rule.type) {
    case 'ExactMatch':
      return rule.caseSensitive ? given === expected : given.toLowerCase() === expected.toLowerCase()
    case 'NumericTolerance': {
      const [right, answer] = [numberOf(expected), numberOf(given)]
      return right !== null && answer !== null && Math.abs(right - answer) <= rule.tolerance
    }
    case 'Regex': {
      const matched = await threads.run({ task: 'match', pattern: rule.pattern, text: given }, { cpuMs: MATCH_MS_MAX })
      return matched.ok && matched.value === true
    }
  }
}

/** Neither NaN, nor infinity, nor hexadecimal, nor anything beside the number but spaces. */
function numberOf(text: string): number | null {
  if (text.length > NUMBER_CHARS_MAX) return null
  const trimmed = text.trim()
  const value = NUMBER.test(trimmed) ? Number(trimmed) : NaN
  return Number.isFinite(value) ? value : null
}
