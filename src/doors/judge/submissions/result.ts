// The result of a judged submission, as the ledger keeps it and the wire shows it.
import type { Judged } from '../work/judge-submission.ts'
import { isVerdict, type Verdict } from './verdict.ts'
import type { TestResult } from '../work/run-test.ts'

export interface TestLine {
  name: string
  verdict: Verdict
  time_ms: number
  mem_kb: number
  message?: string
  /** Only of a sample. */
  input?: string
  expected?: string
  output?: string
  stderr?: string
}

export interface GroupLine {
  name: string
  verdict: Verdict
  score: number
  max_score: number | null
}

export interface JudgeResult {
  verdict: Verdict
  time_ms: number
  mem_kb: number
  score?: number
  groups?: GroupLine[]
  tests: TestLine[]
  compile_output?: string
  degraded?: true
}

const COMPILE_OUTPUT_CHARS_MAX = 64 * 1024

export function resultOf(judged: Judged, isScoring: boolean): JudgeResult {
  const { verdict, timeMs, memKb, score, groups, tests, compileOutput, degraded } = judged
  return {
    verdict,
    time_ms: timeMs,
    mem_kb: memKb,
    ...(isScoring ? { score: score ?? 0 } : {}),
    ...(isScoring && groups.length > 0
      ? { groups: groups.map(({ maxScore, ...group }) => ({ ...group, max_score: maxScore })) }
      : {}),
    tests: tests.map(testLine),
    ...(compileOutput === '' ? {} : { compile_output: compileOutput.slice(0, COMPILE_OUTPUT_CHARS_MAX) }),
    ...(degraded ? { degraded: true } : {}),
  }
}

export function testLine({ test, verdict, timeMs, memKb, message, shown }: TestResult): TestLine {
  return {
    ...briefLine({ test, verdict, timeMs, memKb }),
    ...(message === '' ? {} : { message }),
    ...(shown === null
      ? {}
      : { input: shown.input, expected: shown.expected, output: shown.output, stderr: shown.errors }),
  }
}

/** Without the texts: for those who watch. */
export const briefLine = ({
  test,
  verdict,
  timeMs,
  memKb,
}: Pick<TestResult, 'test' | 'verdict' | 'timeMs' | 'memKb'>): TestLine => ({
  name: test.name,
  verdict,
  time_ms: timeMs,
  mem_kb: memKb,
})

/** Out of the ledger; null: it is not a result of this door. */
export function resultFrom(stored: unknown): JudgeResult | null {
  return isResult(stored) ? stored : null
}

const isResult = (stored: unknown): stored is JudgeResult =>
  typeof stored === 'object' &&
  stored !== null &&
  'verdict' in stored &&
  isVerdict(stored.verdict) &&
  'tests' in stored &&
  Array.isArray(stored.tests)
