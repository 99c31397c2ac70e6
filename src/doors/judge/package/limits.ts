// How long, how much. Where problem.yaml is silent, the format's own defaults hold; a time limit may stand in other files
// as well, because older judges kept it there.
import { PackageError, type ProblemLimits } from './package.ts'
import type { FieldReader } from './yaml-fields.ts'

const MB = 1024 * 1024
const TIME_SEC_DEFAULT = 1
const TIME_SEC_MAX = 600
const MEMORY_MB_DEFAULT = 1024
const MEMORY_MB_MAX = 65_536
const OUTPUT_MB_DEFAULT = 8
/** Larger limits on output count as this one. */
const OUTPUT_MB_MAX = 1024
const COMPILE_SEC_DEFAULT = 60
const COMPILE_MEMORY_MB_DEFAULT = 2048
const VALIDATION_SEC_DEFAULT = 60
const VALIDATION_MEMORY_MB_DEFAULT = 2048
const VALIDATION_OUTPUT_MB_DEFAULT = 8
const PASSES_DEFAULT = 2
const PASSES_MAX = 100

/** As JSON Schema has it. */
export const TIME_SEC_RANGE = { minimum: 0.001, maximum: TIME_SEC_MAX }
export const MEMORY_MB_RANGE = { minimum: 1, maximum: MEMORY_MB_MAX }
const SECONDS = { min: TIME_SEC_RANGE.minimum, max: TIME_SEC_MAX }
const MEGABYTES = { min: 1, max: MEMORY_MB_MAX }

export interface TimeLimitFiles {
  /** The content of .timelimit. */
  timelimit: string | null
  /** The content of domjudge-problem.ini. */
  ini: string | null
}

export function readLimits(yaml: FieldReader, files: TimeLimitFiles): ProblemLimits {
  const limits = yaml.inside('limits')
  const seconds = (name: string, or: number) => Math.round((limits.number(name, SECONDS) ?? or) * 1000)
  const megabytes = (name: string, or: number) => Math.round((limits.number(name, MEGABYTES) ?? or) * MB)
  const output = (name: string, or: number) => Math.min(megabytes(name, or), OUTPUT_MB_MAX * MB)
  return {
    timeMs: seconds('time_limit', timeLimitOf(files)),
    timeMsOf: timeLimitsOfLanguages(limits),
    memoryBytes: megabytes('memory', MEMORY_MB_DEFAULT),
    outputBytes: output('output', OUTPUT_MB_DEFAULT),
    compileMs: seconds('compilation_time', COMPILE_SEC_DEFAULT),
    compileMemoryBytes: megabytes('compilation_memory', COMPILE_MEMORY_MB_DEFAULT),
    validationMs: seconds('validation_time', VALIDATION_SEC_DEFAULT),
    validationMemoryBytes: megabytes('validation_memory', VALIDATION_MEMORY_MB_DEFAULT),
    validationOutputBytes: output('validation_output', VALIDATION_OUTPUT_MB_DEFAULT),
  }
}

const FACTOR_RANGE = { min: 1, max: 100 }
const FACTOR_LEGACY = 5
const FACTOR_DEFAULT = 2

/** For a package without a time limit: the slowest accepted submission times this. Null: it has one. */
export function readTimeRule(yaml: FieldReader, { timelimit, ini }: TimeLimitFiles): { factor: number } | null {
  const limits = yaml.inside('limits')
  if (limits.has('time_limit') || timelimit !== null || (ini !== null && iniValue(ini, 'timelimit') !== null))
    return null
  const isLegacy = !yaml.has('problem_format_version') || yaml.text('problem_format_version') === 'legacy'
  const factor = isLegacy
    ? (limits.number('time_multiplier', FACTOR_RANGE) ?? FACTOR_LEGACY)
    : (limits.inside('time_multipliers').number('ac_to_time_limit', FACTOR_RANGE) ?? FACTOR_DEFAULT)
  return { factor }
}

export const readPasses = (yaml: FieldReader): number =>
  Math.floor(yaml.inside('limits').number('validation_passes', { min: 1, max: PASSES_MAX }) ?? PASSES_DEFAULT)

function timeLimitsOfLanguages(limits: FieldReader): Map<string, number> {
  const own = limits.inside('time_limits')
  return new Map(own.entries().map(([language]) => [language, Math.round((own.number(language, SECONDS) ?? 0) * 1000)]))
}

function timeLimitOf({ timelimit, ini }: TimeLimitFiles): number {
  if (timelimit !== null) return secondsFrom('.timelimit', timelimit.trim())
  const named = ini === null ? null : iniValue(ini, 'timelimit')
  return named === null ? TIME_SEC_DEFAULT : secondsFrom('domjudge-problem.ini', named)
}

function secondsFrom(file: string, text: string): number {
  const seconds = text === '' ? NaN : Number(text)
  if (seconds >= SECONDS.min && seconds <= SECONDS.max) return seconds
  throw new PackageError(`${file}: the time limit must be from ${SECONDS.min} to ${SECONDS.max} seconds.`)
}

/** `name = value`, with or without quotes. */
export function iniValue(ini: string, name: string): string | null {
  for (const line of ini.split(/\r?\n/)) {
    const [key = '', ...rest] = line.split('=')
    if (key.trim() === name && rest.length > 0)
      return rest
        .join('=')
        .trim()
        .replace(/^(['"])(.*)\1$/, '$2')
  }
  return null
}
