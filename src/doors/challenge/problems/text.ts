// `text`: one named operation on one text. Characters are code points, not halves of surrogate pairs.
import { createHash } from 'node:crypto'
import { RE2JS } from 're2js'
import { ANSWER_CHARS_MAX, UnsolvableProblem } from './solution.ts'

const REPEAT_MAX = 10_000

export type TextProblem = Readonly<Record<string, unknown>>

type Operation = (text: string, problem: TextProblem) => string

const lines = (text: string) => text.split(/\r?\n/)
const words = (text: string) => text.split(/\s+/u).filter((word) => word !== '')

const OPERATIONS: Readonly<Record<string, Operation>> = {
  reverse: (text) => [...text].toReversed().join(''),
  reverse_words: (text) => words(text).toReversed().join(' '),
  upper: (text) => text.toUpperCase(),
  lower: (text) => text.toLowerCase(),
  title: (text) => text.toLowerCase().replace(/(^|\s)(\S)/gu, (found) => found.toUpperCase()),
  trim: (text) => text.trim(),
  collapse_spaces: (text) => words(text).join(' '),
  length: (text) => String([...text].length),
  word_count: (text) => String(words(text).length),
  line_count: (text) => String(text === '' ? 0 : lines(text).length),
  count: (text, problem) => String(text.split(required(problem, 'search')).length - 1),
  replace: (text, problem) => text.replaceAll(required(problem, 'search'), () => textOf(problem, 'replacement', '')),
  extract: (text, problem) => extract(text, required(problem, 'pattern'), integerOf(problem, 'group', 0)),
  substring: (text, problem) =>
    [...text].slice(integerOf(problem, 'start', 0), integerOf(problem, 'end', Number.MAX_SAFE_INTEGER)).join(''),
  repeat: (text, problem) => repeat(text, integerOf(problem, 'times', 1)),
  sort_lines: (text) => lines(text).sort(byCodeUnit).join('\n'),
  unique_lines: (text) => [...new Set(lines(text))].join('\n'),
  sort_words: (text) => words(text).sort(byCodeUnit).join(' '),
  base64_encode: (text) => Buffer.from(text).toString('base64'),
  base64_decode: (text) => Buffer.from(text, 'base64').toString(),
  sha256: (text) => createHash('sha256').update(text).digest('hex'),
}

export function solveText(problem: TextProblem): string {
  const name = problem['operation'] ?? 'upper'
  const operation = typeof name === 'string' && Object.hasOwn(OPERATIONS, name) ? OPERATIONS[name] : undefined
  if (operation === undefined) {
    throw new UnsolvableProblem('INVALID_PROBLEM', `operation must be one of ${Object.keys(OPERATIONS).join(', ')}.`)
  }
  const answer = operation(textOf(problem, 'text'), problem)
  if (answer.length > ANSWER_CHARS_MAX) throw new UnsolvableProblem('TOO_LARGE', 'The answer is too long.')
  return answer.toWellFormed().replaceAll('\0', '\u{fffd}')
}

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function textOf(problem: TextProblem, name: string, or?: string): string {
  const value = problem[name] ?? or
  if (typeof value !== 'string') throw new UnsolvableProblem('INVALID_PROBLEM', `${name} must be a string.`)
  return value
}

function required(problem: TextProblem, name: string): string {
  const value = textOf(problem, name)
  if (value === '') throw new UnsolvableProblem('INVALID_PROBLEM', `${name} must not be empty.`)
  return value
}

function integerOf(problem: TextProblem, name: string, or: number): number {
  const value = problem[name] ?? or
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    throw new UnsolvableProblem('INVALID_PROBLEM', `${name} must be an integer.`)
  return value
}

function repeat(text: string, times: number): string {
  if (times < 0 || times > REPEAT_MAX) throw new UnsolvableProblem('INVALID_PROBLEM', `times must be 0 to ${REPEAT_MAX}.`)
  if (text.length * times > ANSWER_CHARS_MAX) throw new UnsolvableProblem('TOO_LARGE', 'The answer is too long.')
  return text.repeat(times)
}

function extract(text: string, pattern: string, group: number): string {
  const matcher = compiled(pattern).matcher(text)
  if (!matcher.find()) throw new UnsolvableProblem('NO_MATCH', 'The pattern matches nothing.')
  if (group < 0 || group > matcher.groupCount())
    throw new UnsolvableProblem('INVALID_PROBLEM', 'The pattern has no such group.')
  return matcher.group(group) ?? ''
}

function compiled(pattern: string): RE2JS {
  try {
    return RE2JS.compile(pattern)
  } catch {
    throw new UnsolvableProblem('INVALID_PROBLEM', 'The pattern is not a regular expression of RE2.')
  }
}
