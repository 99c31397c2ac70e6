// What the tests of one submission share: its program in one box, the problem's validator in another, and their limits.
import { join } from 'node:path'
import type { ProblemPackage, Test } from '../package/package.ts'
import type { Box, Mount } from '../sandbox/box.ts'
import { BOX_ENV, IN_BOX, runCommand, type Program, type SourceFile } from '../programs/compile.ts'
import type { RunScope, RunSpec } from './box-run.ts'
import type { Slot } from './slot.ts'
import type { TestSeries } from './test-series.ts'

const MB = 1024 * 1024
const PROCESSES_MAX = 64
const VALIDATOR_PROCESSES_MAX = 128
const STACK_BYTES = 64 * MB
const FILE_BYTES_MAX = 256 * MB
const WALL_EXTRA_MS = 1000

/** Paths in the validator's box: its own program, the tests, and the contestant's output. */
const PROGRAM_IN_BOX = '/program'
const DATA_IN_BOX = '/data'
const IO_IN_BOX = '/io'

export interface LoadedProblem {
  package: ProblemPackage
  /** Small answers are kept in memory; null: it is not small. */
  answerOf(test: Test): Promise<Buffer | null>
  /** What the problem adds to every submission in a language. */
  includedFiles(languageId: string): Promise<readonly SourceFile[]>
}

export interface TestRun {
  scope: RunScope
  slot: Slot
  problem: LoadedProblem
  program: Program
  /** Null: the comparator decides. */
  validator: Program | null
  contestantBox: Box
  validatorBox: Box | null
  series: TestSeries
}

export const validatorMounts = (slot: Slot, problem: LoadedProblem, validator: Program): Mount[] => [
  { from: validator.folder, to: PROGRAM_IN_BOX },
  { from: join(problem.package.folder, 'data'), to: DATA_IN_BOX },
  { from: slot.io, to: IO_IN_BOX },
]

/** What a path of the host is called in the validator's box. */
export function seenByValidator({ slot, problem }: TestRun, path: string): string {
  const data = join(problem.package.folder, 'data')
  if (path.startsWith(`${data}/`)) return DATA_IN_BOX + path.slice(data.length)
  if (path.startsWith(`${slot.io}/`)) return IO_IN_BOX + path.slice(slot.io.length)
  throw new Error('A validator cannot see that.')
}

export type Pipes = Pick<RunSpec, 'stdinPath' | 'stdoutPath' | 'stderrPath'>

export function timeLimitOf({ problem, program }: TestRun): number {
  const { limits } = problem.package
  const { language } = program.toolchain
  return Math.round((limits.timeMsOf.get(language.id) ?? limits.timeMs) * (language.time_factor ?? 1))
}

/** A program that only waits is ended as well. */
const wallLimitOf = (timeMs: number): number => 2 * timeMs + WALL_EXTRA_MS

export function contestantRun(testRun: TestRun, pipes: Pipes): RunSpec {
  const { problem, program } = testRun
  const { limits } = problem.package
  const { language } = program.toolchain
  const timeMs = timeLimitOf(testRun)
  return {
    argv: runCommand(program, IN_BOX, limits.memoryBytes),
    env: { ...BOX_ENV, ...language.env },
    cpuMs: timeMs,
    wallMs: wallLimitOf(timeMs),
    memoryBytes: limits.memoryBytes + (language.memory_extra_mb ?? 0) * MB,
    processesMax: language.processes ?? PROCESSES_MAX,
    outputBytesMax: limits.outputBytes,
    fileBytesMax: FILE_BYTES_MAX,
    diskBytesMax: FILE_BYTES_MAX,
    stackBytes: STACK_BYTES,
    ...pipes,
  }
}

/** `whileMs`: how long it may have to wait for the contestant. */
export function validatorRun(
  { problem }: TestRun,
  validator: Program,
  { args, pipes, whileMs }: { args: readonly string[]; pipes: Pipes; whileMs: number },
): RunSpec {
  const { limits } = problem.package
  const { language } = validator.toolchain
  return {
    argv: [...runCommand(validator, PROGRAM_IN_BOX, limits.validationMemoryBytes), ...args],
    env: { ...BOX_ENV, ...language.env },
    cpuMs: limits.validationMs,
    wallMs: wallLimitOf(limits.validationMs) + whileMs,
    memoryBytes: limits.validationMemoryBytes + (language.memory_extra_mb ?? 0) * MB,
    processesMax: VALIDATOR_PROCESSES_MAX,
    outputBytesMax: limits.validationOutputBytes,
    fileBytesMax: FILE_BYTES_MAX,
    diskBytesMax: FILE_BYTES_MAX,
    stackBytes: STACK_BYTES,
    ...pipes,
  }
}

export const contestantWallMs = (testRun: TestRun): number => wallLimitOf(timeLimitOf(testRun))
