// A problem package, read: the Kattis/ICPC problem package format, as far as judging needs it. The files stay where they
// are, in one folder; this says what they mean.
//
//   problem.yaml          title, type, limits, validation
//   data/sample           tests that everybody may see
//   data/secret           tests that nobody may see
//   data/**/testdata.yaml how the tests of a folder (a group) are graded
//   output_validators/    a program that judges the output, in place of the comparator
//   submissions/          labelled submissions, for `reeve problem verify`
//   include/<language>/   files that every submission of that language gets

export interface ProblemPackage {
  folder: string
  title: string | null
  isScoring: boolean
  isInteractive: boolean
  /** A submission may be run so often on one test: the validator makes the next input. 1: the usual case. */
  passesMax: number
  limits: ProblemLimits
  /** Null: every language. */
  languages: readonly string[] | null
  /** Null: the comparator decides. */
  validator: Validator | null
  statement: Statement | null
  /** Its children are the groups `sample` and `secret`. */
  root: TestGroup
  /** All of them, in the order in which they are judged. */
  tests: readonly Test[]
}

export interface ProblemLimits {
  timeMs: number
  /** A limit of its own for some languages. */
  timeMsOf: ReadonlyMap<string, number>
  memoryBytes: number
  outputBytes: number
  compileMs: number
  compileMemoryBytes: number
  validationMs: number
  validationMemoryBytes: number
  validationOutputBytes: number
}

export interface Validator {
  /** The sources of one program. */
  folder: string
  files: readonly string[]
  /** Kattis: exit 42 or 43, `input answer feedback/ < output`. testlib: exit 0, 1, 2, 3 or 7, `input output answer`. */
  protocol: 'kattis' | 'testlib'
  /** Whether it may, or must, say the score of a test in score.txt. */
  scores: 'no' | 'may' | 'must'
}

export interface Statement {
  language: string
  format: 'markdown' | 'latex'
  text: string
}

export interface TestGroup {
  kind: 'group'
  /** Its path below data/: `secret/group1`. */
  name: string
  onReject: 'break' | 'continue'
  acceptScore: number
  rejectScore: number
  range: readonly [min: number, max: number]
  grading: Grading
  children: readonly (TestGroup | Test)[]
}

export interface Grading {
  verdict: 'worst_error' | 'first_error' | 'always_accept'
  score: 'sum' | 'avg' | 'min' | 'max'
  ignoreSample: boolean
  acceptIfAnyAccepted: boolean
}

export interface Test {
  kind: 'test'
  /** Its path below data/, without the extension: `secret/01`. */
  name: string
  isSample: boolean
  inputPath: string
  answerPath: string
  validatorFlags: readonly string[]
}

/** The package is not one that can be judged: one sentence for its author. */
export class PackageError extends Error {
  override name = 'PackageError'
}
