// The result of a judged submission, as the ledger stores it and the wire shows it.
import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Judged } from '../work/judge-submission.ts'
import { VERDICTS } from './verdict.ts'
import type { TestResult } from '../work/run-test.ts'

const VerdictType = Type.Enum(VERDICTS)
const OptionalText = Type.Optional(Type.String())

const TestLineType = Type.Object({
  name: Type.String(),
  verdict: VerdictType,
  time_ms: Type.Number(),
  mem_kb: Type.Number(),
  message: OptionalText,
  /** Samples only, like the three below. */
  input: OptionalText,
  expected: OptionalText,
  output: OptionalText,
  stderr: OptionalText,
})
const Result = Type.Object({
  verdict: VerdictType,
  time_ms: Type.Number(),
  mem_kb: Type.Number(),
  score: Type.Optional(Type.Number()),
  groups: Type.Optional(
    Type.Array(
      Type.Object({
        name: Type.String(),
        verdict: VerdictType,
        score: Type.Number(),
        max_score: Type.Union([Type.Number(), Type.Null()]),
      }),
    ),
  ),
  tests: Type.Array(TestLineType),
  compile_output: OptionalText,
  degraded: Type.Optional(Type.Literal(true)),
})
const resultSchema = Compile(Result)

export type TestLine = Static<typeof TestLineType>
export type JudgeResult = Static<typeof Result>

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

function testLine({ test, verdict, timeMs, memKb, message, shown }: TestResult): TestLine {
  return {
    ...briefLine({ test, verdict, timeMs, memKb }),
    ...(message === '' ? {} : { message }),
    ...(shown === null
      ? {}
      : {
          input: shown.input,
          ...(shown.expected === null ? {} : { expected: shown.expected }),
          output: shown.output,
          stderr: shown.errors,
        }),
  }
}

/** Without texts: for the event stream. */
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

/** Null: not a result of this door. */
export const resultFrom = (stored: unknown): JudgeResult | null => (resultSchema.Check(stored) ? stored : null)
