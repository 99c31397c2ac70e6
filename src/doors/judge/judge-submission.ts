// Judging one submission: all that is needed comes in, the verdict comes out. It knows neither the ledger nor the
// database, so that whoever holds a job can do this with it: the hands of this process, `reeve problem verify`, or a worker
// on another machine.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Toolchain } from './languages/toolchain.ts'
import { listFolder } from './package/files.ts'
import type { Verdict } from './verdict.ts'
import type { Box } from './sandbox/box.ts'
import { examine, type Examined } from './work/examine.ts'
import { validatorMounts, type Examination, type Problem } from './work/examination.ts'
import type { Workroom } from './work/workroom.ts'
import { judgeTests, type GroupResult } from './work/judge-tests.ts'
import { compile, type Program, type SourceFile } from './work/program.ts'
import { JudgeFailure, type RunScope } from './work/running.ts'
import { emptyFolder, type Station } from './work/station.ts'

export interface Submission {
  jobId: string
  attemptId: number
  language: string
  files: readonly SourceFile[]
  /** The file that is started. */
  entry: string
}

export interface Judged {
  verdict: Verdict
  timeMs: number
  memKb: number
  /** Null: the problem has no scores. */
  score: number | null
  tests: readonly Examined[]
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
  onTest?: (examined: Examined) => void
}

/** Throws JudgeFailure where nothing can be said about the submission, and Interrupted when the signal aborts. */
export async function judgeSubmission(
  workroom: Workroom,
  problem: Problem,
  submission: Submission,
  context: JudgeContext,
): Promise<Judged> {
  const toolchain = workroom.toolchains.get(submission.language)
  if (toolchain === undefined) throw new JudgeFailure(`This worker cannot run ${submission.language}.`)
  const { jobId, attemptId } = submission
  const { metrics } = workroom
  const scope: RunScope = { jobId, attemptId, metrics, log: context.log, signal: context.signal, degraded: false }
  const station = await workroom.stations.take()
  let failed = true
  try {
    const judged = await judgeAt(workroom, { scope, station, problem, submission, toolchain, context })
    failed = false
    return judged
  } finally {
    await workroom.stations.give(station, { failed })
  }
}

interface Work {
  scope: RunScope
  station: Station
  problem: Problem
  submission: Submission
  toolchain: Toolchain
  context: JudgeContext
}

async function judgeAt(workroom: Workroom, work: Work): Promise<Judged> {
  const { scope, station, problem, submission, toolchain, context } = work
  const { limits, root, tests, isScoring } = problem.package
  const files = [...submission.files, ...(await includedFiles(problem, toolchain))]
  const compiled = await compile(workroom, scope, station.main, { toolchain, files, entry: submission.entry }, limits)
  if (!compiled.ok) return compileError(compiled.output, scope)
  context.onCompiled?.(tests.length)

  const validator = await workroom.validators.get(problem, scope, station)
  return withBoxes(work, compiled.program, validator, async (examination) => {
    const result = await judgeTests(root, async (test) => {
      const examined = await examine(examination, test)
      context.onTest?.(examined)
      return examined
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
  { scope, station, problem }: Work,
  program: Program,
  validator: Program | null,
  use: (examination: Examination) => Promise<Result>,
): Promise<Result> {
  const boxes: Box[] = []
  try {
    const [contestantBox] = await Promise.all([
      station.main.open({
        workFolder: program.folder,
        writable: false,
        readOnlyPaths: program.toolchain.paths,
        signal: scope.signal,
      }),
      emptyFolder(station.io), // of what the last submission has left
    ])
    boxes.push(contestantBox)
    const validatorBox = validator === null ? null : await openValidatorBox(station, problem, validator, scope.signal)
    if (validatorBox !== null) boxes.push(validatorBox)
    return await use({ scope, station, problem, program, validator, contestantBox, validatorBox })
  } finally {
    for (const box of boxes) await box.close()
  }
}

async function openValidatorBox(
  station: Station,
  problem: Problem,
  validator: Program,
  signal: AbortSignal,
): Promise<Box> {
  return station.side().open({
    workFolder: station.feedback,
    writable: true,
    readOnlyPaths: validator.toolchain.paths,
    mounts: validatorMounts(station, problem, validator),
    signal,
  })
}

/** What a problem adds to every submission of a language. */
async function includedFiles(problem: Problem, { language }: Toolchain): Promise<SourceFile[]> {
  const folder = join(problem.package.folder, 'include', language.id)
  const listed = await listFolder(folder)
  return Promise.all((listed?.files ?? []).map(async (name) => ({ name, bytes: await readFile(join(folder, name)) })))
}
