// Judges one submission: everything needed comes in, the verdict comes out. It knows neither the ledger nor the database, so
// the judge thread, `reeve problem verify` and a pool worker on another machine all use it.
import type { Logger } from 'pino'
import type { Toolchain } from '../languages/toolchain.ts'
import type { Verdict } from '../submissions/verdict.ts'
import type { Box } from '../sandbox/box.ts'
import { runTest, type TestResult } from './run-test.ts'
import { validatorMounts, type TestRun, type LoadedProblem } from './test-run.ts'
import type { JudgeWorker } from './judge-worker.ts'
import { runOwnInput } from './run-own-input.ts'
import { judgeTests, type GroupResult } from './judge-tests.ts'
import { compile, without, type Program, type Source, type SourceFile } from '../programs/compile.ts'
import { JudgeFailure, type RunScope } from './box-run.ts'
import { emptyFiles, type Slot } from './slot.ts'
import { openTestSeries } from './test-series.ts'

export interface ProgramSource {
  jobId: string
  attemptId: number
  language: string
  files: readonly SourceFile[]
  /** The file that is started. */
  entry: string
  /** Run it on this input, in place of the tests. */
  input?: string | undefined
}

export interface Judged {
  verdict: Verdict
  timeMs: number
  memKb: number
  /** Null: the problem has no scores. */
  score: number | null
  tests: readonly TestResult[]
  groups: readonly GroupResult[]
  compileOutput: string
  /** Some run was not limited by a cgroup. */
  degraded: boolean
}

export interface JudgeContext {
  signal: AbortSignal
  log: Logger
  /** Called when the program is ready to run, and after each test. */
  onCompiled?: (tests: number) => void
  onTest?: (tested: TestResult) => void
}

/** Throws JudgeFailure where nothing can be said about the submission, and Interrupted when the signal aborts. */
export async function judgeSubmission(
  worker: JudgeWorker,
  problem: LoadedProblem,
  submission: ProgramSource,
  context: JudgeContext,
): Promise<Judged> {
  const toolchain = worker.toolchains.get(submission.language)
  if (toolchain === undefined) throw new JudgeFailure(`This worker cannot run ${submission.language}.`)
  const { jobId, attemptId } = submission
  const { meter } = worker
  const scope: RunScope = { jobId, attemptId, meter, log: context.log, signal: context.signal, degraded: false }
  const slot = await worker.slots.take()
  let failed = true
  try {
    const judged = await judgeAt(worker, { scope, slot, problem, submission, toolchain, context })
    failed = false
    return judged
  } finally {
    await worker.slots.give(slot, { failed })
  }
}

interface Work {
  scope: RunScope
  slot: Slot
  problem: LoadedProblem
  submission: ProgramSource
  toolchain: Toolchain
  context: JudgeContext
}

async function judgeAt(worker: JudgeWorker, work: Work): Promise<Judged> {
  const { scope, slot, problem, submission, toolchain, context } = work
  const { limits, root, tests, isScoring } = problem.package
  const source = sourceOf(toolchain, submission, await problem.includedFiles(toolchain.language.id))
  const compiled = await compile(worker, scope, slot.main, source, limits)
  if (!compiled.ok) return compileError(compiled.output, scope)
  context.onCompiled?.(tests.length)

  const { input } = submission
  if (input !== undefined)
    return withBoxes(work, compiled.program, null, async (testRun) => {
      const tested = await runOwnInput(testRun, input)
      const { verdict, timeMs, memKb } = tested
      const { output: compileOutput } = compiled
      const { degraded } = scope
      return { verdict, timeMs, memKb, score: null, tests: [tested], groups: [], compileOutput, degraded }
    })
  const validator = await worker.validators.get(problem, scope, slot)
  return withBoxes(work, compiled.program, validator, async (testRun) => {
    const result = await judgeTests(root, async (test) => {
      const tested = await runTest(testRun, test)
      context.onTest?.(tested)
      return tested
    })
    return {
      verdict: result.verdict,
      timeMs: Math.max(0, ...result.tests.map((test) => test.timeMs)),
      memKb: Math.max(0, ...result.tests.map((test) => test.memKb)),
      score: isScoring ? result.score : null,
      tests: result.tests,
      groups: result.groups,
      compileOutput: compiled.output,
      degraded: scope.degraded,
    }
  })
}

/** Included files replace those of the submission. One with the name of a main file is the driver: it is started. */
function sourceOf(toolchain: Toolchain, { files, entry }: ProgramSource, included: readonly SourceFile[]): Source {
  const driver = included.find(({ name }) => name.startsWith('__main__.') || name === toolchain.language.source)
  return { toolchain, files: [...without(files, included), ...included], entry: driver?.name ?? entry }
}

const compileError = (output: string, { degraded }: RunScope): Judged => ({
  verdict: 'CE',
  timeMs: 0,
  memKb: 0,
  score: null,
  tests: [],
  groups: [],
  compileOutput: output,
  degraded,
})

/** One box for the submission; one for the validator, which sees the data and what the submission wrote. */
async function withBoxes<Result>(
  { scope, slot, problem }: Work,
  program: Program,
  validator: Program | null,
  use: (testRun: TestRun) => Promise<Result>,
): Promise<Result> {
  const boxes: Box[] = []
  emptyFiles(slot.files) // of what the last submission has left
  try {
    const contestantBox = await slot.main.open({
      workFolder: program.folder,
      writable: false,
      readOnlyPaths: program.toolchain.paths,
      signal: scope.signal,
    })
    boxes.push(contestantBox)
    const validatorBox = validator === null ? null : await openValidatorBox(slot, problem, validator, scope.signal)
    if (validatorBox !== null) boxes.push(validatorBox)
    const series = openTestSeries(problem.package.tests)
    return await use({ scope, slot, problem, program, validator, contestantBox, validatorBox, series })
  } finally {
    for (const box of boxes) await box.close()
  }
}

async function openValidatorBox(
  slot: Slot,
  problem: LoadedProblem,
  validator: Program,
  signal: AbortSignal,
): Promise<Box> {
  return slot.side().open({
    workFolder: slot.feedback,
    writable: true,
    readOnlyPaths: validator.toolchain.paths,
    mounts: validatorMounts(slot, problem, validator),
    signal,
  })
}
