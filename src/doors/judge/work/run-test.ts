// One test: the program runs on the input, and its output is judged. A run that broke a limit or crashed has its verdict; the
// output of a run that ended normally is compared with the answer, or judged by the validator.
import { readFileSync } from 'node:fs'
import { lstat, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { compareBytes, compareFiles } from '../compare/compare.ts'
import { parseFlags } from '../compare/flags.ts'
import { isMissing } from '../package/files.ts'
import type { Test, Validator } from '../package/package.ts'
import type { RunReport } from '../sandbox/box.ts'
import type { Verdict } from '../submissions/verdict.ts'
import { contestantRun, seenByValidator, timeLimitOf, validatorRun, type TestRun } from './test-run.ts'
import { interact } from './interact.ts'
import { IN_BOX, type Program } from '../programs/compile.ts'
import { readStart } from '../programs/read-start.ts'
import { JudgeFailure, runOnce, unstarved } from './box-run.ts'
import { emptyFolder, type RunFiles } from './slot.ts'
import { isInSeries } from './test-series.ts'
import { judgementOf, validatorArguments, type Judgement } from './validate.ts'

const SMALL_BYTES_MAX = 64 * 1024
const SHOWN_BYTES_MAX = 4096

export interface TestResult {
  test: Test
  verdict: Verdict
  /** What the validator gave; null: the group's own. */
  score: number | null
  timeMs: number
  memKb: number
  message: string
  /** Of a sample. */
  shown: SampleTexts | null
}

export interface SampleTexts {
  input: string
  /** Null: there is none, because the input is the contestant's own. */
  expected: string | null
  output: string
  errors: string
}

/** One run of the program, judged. */
interface TestPass {
  run: RunReport
  judgement: Judgement | null
}

/** What one pass works with. */
interface PassFiles {
  test: Test
  input: string
  files: RunFiles
}

export async function runTest(testRun: TestRun, test: Test): Promise<TestResult> {
  const { slot, problem } = testRun
  const { passesMax } = problem.package
  if (testRun.validatorBox !== null) await emptyFolder(slot.feedback)
  let input = test.inputPath
  let timeMs = 0
  let memKb = 0
  for (let pass = 1; ; pass += 1) {
    const { files } = slot
    const { run, judgement } = await runPass(testRun, { test, input, files })
    timeMs = Math.max(timeMs, timeOf(run, timeLimitOf(testRun)))
    memKb = Math.max(memKb, run.memKb)
    const verdict = judgement?.verdict ?? (run.verdict === 'OK' ? 'AC' : run.verdict)
    const next = verdict === 'AC' && passesMax > 1 ? await nextInput(testRun) : null
    const message = messageOf(run, judgement, test)
    const shown = test.isSample && next === null ? await shownOf(test, run, files) : null
    await forget(run, files)
    if (next === null) return { test, verdict, score: judgement?.score ?? null, timeMs, memKb, message, shown }
    if (pass === passesMax)
      throw new JudgeFailure(`The validator wants more than ${passesMax} passes.`, { final: true })
    input = next
  }
}

/** Small outputs stay until the next run empties them: removing each would take longer than reading it. */
async function forget({ outputBytes }: RunReport, files: RunFiles): Promise<void> {
  if (outputBytes <= SMALL_BYTES_MAX) return
  for (const path of Object.values(files)) await rm(path, { force: true })
}

/** CPU time; wall-clock time if the program slept past its limit. */
export const timeOf = ({ verdict, timeMs, wallMs }: RunReport, limitMs: number): number =>
  verdict === 'TLE' && timeMs < limitMs ? wallMs : timeMs

/** The input of the next pass, if the validator wrote one; null: this was the last pass. */
async function nextInput({ slot }: TestRun): Promise<string | null> {
  const left = join(slot.feedback, 'nextpass.in')
  const seen = await lstat(left).catch((error: unknown) => {
    if (isMissing(error)) return null
    throw error
  })
  if (seen === null) return null
  if (!seen.isFile()) throw new JudgeFailure('The validator left something that is not a file.', { final: true })
  const path = join(slot.io, 'next.in')
  await rename(left, path)
  return path
}

async function runPass(testRun: TestRun, trial: PassFiles): Promise<TestPass> {
  const { isInteractive, validator } = testRun.problem.package
  if (isInteractive && validator !== null) return runInteractively(testRun, validator, trial)
  const run = await unstarved(testRun.scope, () => runContestant(testRun, trial))
  if (run.verdict !== 'OK') return { run, judgement: null }
  return { run, judgement: await judgeOutput(testRun, trial, run) }
}

function runContestant(testRun: TestRun, { test, input, files }: PassFiles): Promise<RunReport> {
  const { scope, contestantBox, series } = testRun
  if (isInSeries(testRun, test)) return series.run(testRun, test)
  const stderrPath = test.isSample ? files.errors : null
  const pipes = { stdinPath: input, stdoutPath: files.output, stderrPath }
  return runOnce(scope, contestantBox, contestantRun(testRun, pipes))
}

async function judgeOutput(testRun: TestRun, trial: PassFiles, run: RunReport): Promise<Judgement> {
  const { validator } = testRun.problem.package
  if (validator === null || testRun.validator === null) return compareOutput(testRun, trial, run)
  const report = await validateOutput(testRun, validator, testRun.validator, trial)
  return judgementOf(validator, report, placesOf(testRun, trial))
}

async function validateOutput(
  testRun: TestRun,
  validator: Validator,
  program: Program,
  trial: PassFiles,
): Promise<RunReport> {
  const { scope, validatorBox } = testRun
  if (validatorBox === null) throw new Error('A validator has a box.')
  const { output, validatorErrors } = trial.files
  const sees = { ...seenOf(testRun, trial), output: seenByValidator(testRun, output) }
  const args = validatorArguments(validator, sees, trial.test.validatorFlags)
  const pipes = { stdinPath: output, stdoutPath: null, stderrPath: validatorErrors }
  return unstarved(scope, () =>
    runOnce(scope, validatorBox, validatorRun(testRun, program, { args, pipes, whileMs: 0 })),
  )
}

async function runInteractively(testRun: TestRun, validator: Validator, trial: PassFiles): Promise<TestPass> {
  const { test, files } = trial
  const transcript = `${IN_BOX}/output` // where an interactor of testlib may leave one
  const sees = { ...seenOf(testRun, trial), output: transcript }
  const args = validatorArguments(validator, sees, test.validatorFlags)
  const { contestant, interactor, first } = await unstarved(testRun.scope, () =>
    interact(testRun, args, { keepsErrors: test.isSample, files }),
  )
  // A broken limit or a crash decides, unless the interactor had already rejected: what a program does after that does not
  // count. An interactor that then fails, because nobody answers any more, is not asked.
  if (first === 'contestant' && contestant.verdict !== 'OK') return { run: contestant, judgement: null }
  const judgement = await judgementOf(validator, interactor, placesOf(testRun, trial))
  if (judgement.verdict === 'WA' && first === 'interactor') return { run: contestant, judgement }
  return { run: contestant, judgement: contestant.verdict === 'OK' ? judgement : null }
}

const seenOf = (testRun: TestRun, { test, input }: PassFiles) => ({
  input: seenByValidator(testRun, input),
  answer: seenByValidator(testRun, test.answerPath),
  feedback: IN_BOX,
})

const placesOf = ({ slot }: TestRun, { files }: PassFiles) => ({
  feedback: slot.feedback,
  stderr: files.validatorErrors,
})

/** A small output was written a moment ago and is in the page cache: a synchronous read is faster than the thread pool. */
async function compareOutput({ problem }: TestRun, { test, files }: PassFiles, run: RunReport): Promise<Judgement> {
  if (run.same) return { verdict: 'AC', score: null, teamMessage: '', judgeMessage: '' }
  const flags = parseFlags(test.validatorFlags)
  const answer = run.outputBytes <= SMALL_BYTES_MAX ? await problem.answerOf(test) : null
  const comparison =
    answer === null
      ? await compareFiles(test.answerPath, files.output, flags)
      : await compareBytes(answer, readFileSync(files.output), flags)
  const judgeMessage = comparison.same ? '' : comparison.message
  return { verdict: comparison.same ? 'AC' : 'WA', score: null, teamMessage: '', judgeMessage }
}

/** For the contestant: everything of a sample, and the validator's message for the team. */
export function messageOf(run: RunReport, judgement: Judgement | null, test: Test): string {
  if (judgement !== null) {
    const { teamMessage, judgeMessage } = judgement
    return test.isSample && judgement.verdict === 'WA'
      ? [teamMessage, judgeMessage].filter(Boolean).join('\n')
      : teamMessage
  }
  if (run.verdict !== 'RE') return ''
  return run.exitSignal === 0 ? `exit code ${run.exitCode}` : `signal ${run.exitSignal}`
}

async function shownOf(test: Test, { outputBytes }: RunReport, files: RunFiles): Promise<SampleTexts> {
  const start = (path: string) => readStart(path, SHOWN_BYTES_MAX)
  const [input, expected, output, errors] = await Promise.all([
    start(test.inputPath),
    start(test.answerPath),
    outputBytes === 0 ? '' : start(files.output), // else it is what an earlier run wrote
    start(files.errors),
  ])
  return { input, expected, output, errors }
}
