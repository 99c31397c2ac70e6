// What a labelled submission should get: its folder says so, or a line in one of its files, as DOMjudge has it:
// `@EXPECTED_RESULTS@: WRONG-ANSWER, RUN-ERROR`.
import type { Verdict } from '../submissions/verdict.ts'

export interface Label {
  /** Any of these is right. */
  verdicts: readonly Verdict[]
  /** Accepted, but not with all points. */
  isPartial: boolean
}

const REJECTED: readonly Verdict[] = ['WA', 'TLE', 'MLE', 'OLE', 'RE', 'CE']

/** To many authors, running out of memory is one more way to crash. */
const FOLDERS: Readonly<Record<string, readonly Verdict[]>> = {
  accepted: ['AC'],
  slow_accepted: ['AC', 'TLE'],
  partially_accepted: ['AC'],
  wrong_answer: ['WA'],
  no_output: ['WA'],
  time_limit_exceeded: ['TLE'],
  run_time_error: ['RE', 'MLE'],
  runtime_error: ['RE', 'MLE'],
  brute_force: ['TLE', 'RE', 'MLE'],
  memory_limit_exceeded: ['MLE', 'RE'],
  output_limit: ['OLE'],
  output_limit_exceeded: ['OLE'],
  compile_error: ['CE'],
  compiler_error: ['CE'],
  rejected: REJECTED,
}

const WORDS: Readonly<Record<string, readonly Verdict[]>> = {
  CORRECT: ['AC'],
  ACCEPTED: ['AC'],
  'WRONG-ANSWER': ['WA'],
  'NO-OUTPUT': ['WA'],
  TIMELIMIT: ['TLE'],
  'TIME-LIMIT-EXCEEDED': ['TLE'],
  'RUN-ERROR': ['RE', 'MLE'],
  'RUN-TIME-ERROR': ['RE', 'MLE'],
  'MEMORY-LIMIT': ['MLE', 'RE'],
  'OUTPUT-LIMIT': ['OLE'],
  'COMPILER-ERROR': ['CE'],
}

const TAG = /@EXPECTED_RESULTS@:([^\n*]*)/

/** Null: nothing says what it should get. */
export function labelOf(folder: string, sources: readonly Buffer[]): Label | null {
  const tagged = sources.map((bytes) => TAG.exec(bytes.toString('latin1'))?.[1]).find((text) => text !== undefined)
  const verdicts = tagged === undefined ? FOLDERS[folder] : fromTag(tagged)
  return verdicts === undefined ? null : { verdicts, isPartial: folder === 'partially_accepted' }
}

function fromTag(text: string): readonly Verdict[] | undefined {
  const words = text.split(',').map((word) => word.trim().toUpperCase().replaceAll('_', '-'))
  const known = words.map((word) => WORDS[word])
  return known.every((verdicts) => verdicts !== undefined) ? known.flat() : undefined
}
