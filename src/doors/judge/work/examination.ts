// All that the tests of one submission have in common: its program in one box, the problem's validator in another, and
// what either may use.
import { join } from 'node:path'
import type { ProblemPackage, Test } from '../package/package.ts'
import type { Box, Mount } from '../sandbox/box.ts'
import { BOX_ENV, IN_BOX, runCommand, type Program } from './program.ts'
import type { RunScope, Wanted } from './running.ts'
import type { Station } from './station.ts'

const MB = 1024 * 1024
const PROCESSES_MAX = 64
const VALIDATOR_PROCESSES_MAX = 128
const STACK_BYTES = 64 * MB
const FILE_BYTES_MAX = 256 * MB
const WALL_EXTRA_MS = 1000

/** Where a validator sees things: its own program, the tests, and what the contestant wrote. */
const PROGRAM_IN_BOX = '/program'
const DATA_IN_BOX = '/data'
const IO_IN_BOX = '/io'

export interface Problem {
  package: ProblemPackage
  /** Small answers are kept in memory; null: it is not small. */
  answerOf(test: Test): Promise<Buffer | null>
}

export interface Examination {
  scope: RunScope
  station: Station
  problem: Problem
  program: Program
  /** Null: the comparator decides. */
  validator: Program | null
  contestantBox: Box
  validatorBox: Box | null
}

export const validatorMounts = (station: Station, problem: Problem, validator: Program): Mount[] => [
  { from: validator.folder, to: PROGRAM_IN_BOX },
  { from: join(problem.package.folder, 'data'), to: DATA_IN_BOX },
  { from: station.io, to: IO_IN_BOX },
]

/** What a path of the host is called in the validator's box. */
export function seenByValidator({ station, problem }: Examination, path: string): string {
  const data = join(problem.package.folder, 'data')
  if (path.startsWith(`${data}/`)) return DATA_IN_BOX + path.slice(data.length)
  if (path.startsWith(`${station.io}/`)) return IO_IN_BOX + path.slice(station.io.length)
  throw new Error('A validator cannot see that.')
}

export type Pipes = Pick<Wanted, 'stdinPath' | 'stdoutPath' | 'stderrPath'>

export function timeLimitOf({ problem, program }: Examination): number {
  const { limits } = problem.package
  const { language } = program.toolchain
  return Math.round((limits.timeMsOf.get(language.id) ?? limits.timeMs) * (language.time_factor ?? 1))
}

/** Waiting is not working, but it must end as well. */
const wallLimitOf = (timeMs: number): number => 2 * timeMs + WALL_EXTRA_MS

export function contestantRun(examination: Examination, pipes: Pipes): Wanted {
  const { problem, program } = examination
  const { limits } = problem.package
  const { language } = program.toolchain
  const timeMs = timeLimitOf(examination)
  return {
    ...pipes,
    argv: runCommand(program, IN_BOX, limits.memoryBytes),
    env: { ...BOX_ENV, ...language.env },
    cpuMs: timeMs,
    wallMs: wallLimitOf(timeMs),
    memoryBytes: limits.memoryBytes + (language.memory_extra_mb ?? 0) * MB,
    processesMax: language.processes ?? PROCESSES_MAX,
    outputBytesMax: limits.outputBytes,
    fileBytesMax: FILE_BYTES_MAX,
    stackBytes: STACK_BYTES,
  }
}

/** `whileMs`: how long it may have to wait for the contestant. */
export function validatorRun(
  { problem }: Examination,
  validator: Program,
  { args, pipes, whileMs }: { args: readonly string[]; pipes: Pipes; whileMs: number },
): Wanted {
  const { limits } = problem.package
  const { language } = validator.toolchain
  return {
    ...pipes,
    argv: [...runCommand(validator, PROGRAM_IN_BOX, limits.validationMemoryBytes), ...args],
    env: { ...BOX_ENV, ...language.env },
    cpuMs: limits.validationMs,
    wallMs: wallLimitOf(limits.validationMs) + whileMs,
    memoryBytes: limits.validationMemoryBytes + (language.memory_extra_mb ?? 0) * MB,
    processesMax: VALIDATOR_PROCESSES_MAX,
    outputBytesMax: limits.validationOutputBytes,
    fileBytesMax: FILE_BYTES_MAX,
    stackBytes: STACK_BYTES,
  }
}

export const contestantWallMs = (examination: Examination): number => wallLimitOf(timeLimitOf(examination))
