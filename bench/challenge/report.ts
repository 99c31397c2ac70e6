import { machineLine, type Machine } from '../machine.ts'
import { spreadOf } from '../statistics.ts'
import { table } from '../table.ts'
import type { Accepting } from './accept.ts'
import type { Options } from './options.ts'
import { VARIANTS, type Variant } from './variants.ts'

export interface Results {
  accept: Map<Variant, Accepting[]>
  steady: Map<Variant, Accepting[]>
  endToEnd: number[]
}

export interface Outcome {
  machine: Machine
  /** Of PostgreSQL. */
  settings: string
  options: Options
  results: Results
}

export const jsonOf = ({ machine, settings, options, results }: Outcome): unknown => ({
  machine,
  postgres_settings: settings,
  options,
  accept: Object.fromEntries(results.accept),
  steady: Object.fromEntries(results.steady),
  end_to_end: results.endToEnd,
})

export function textOf({ machine, settings, options, results }: Outcome): string {
  const { repetitions, seconds, connections, rate, challenges } = options
  const parts = [
    `Machine: ${machineLine(machine)}.`,
    `PostgreSQL: ${settings}.`,
    `${repetitions} repetitions, interleaved, each on a new database and a new server process: median (min–max). The client ` +
      `is a process of its own.\n${Object.values(VARIANTS)
        .map(({ title, what }) => `${title}: ${what}`)
        .join('\n')}`,
    acceptTable(results.accept, `Accepted, ${connections} connections, ${seconds} s`),
    steadyTable(results.steady, `At ${rate} requests per second, ${seconds} s`),
    results.endToEnd.length === 0
      ? ''
      : `End to end, ${challenges} challenges, from POST /solve to the stored result, two server processes: ` +
        `${spread(results.endToEnd, 0)} per second.`,
  ]
  return `\n${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function acceptTable(results: Results['accept'], title: string): string {
  if (results.size === 0) return ''
  const medianOf = (variant: Variant) => spreadOf((results.get(variant) ?? []).map((one) => one.perSecond)).median
  const against: readonly Variant[] = ['bare', 'signature', 'insert']
  const shown = against.filter((variant) => results.has(variant))
  const rows = [...results].map(([variant, samples]) => [
    VARIANTS[variant].title,
    spread(
      samples.map((one) => one.perSecond),
      0,
    ),
    spread(
      samples.map((one) => one.p50),
      1,
    ),
    spread(
      samples.map((one) => one.p99),
      1,
    ),
    ...shown.map((other) => `${((100 * medianOf(variant)) / medianOf(other)).toFixed(0)}%`),
  ])
  const head = [title, 'per second', 'p50 ms', 'p99 ms', ...shown.map((variant) => `of ${VARIANTS[variant].title}`)]
  return table(head, rows)
}

function steadyTable(results: Results['steady'], title: string): string {
  if (results.size === 0) return ''
  const rows = [...results].map(([variant, samples]) => [
    VARIANTS[variant].title,
    spread(
      samples.map((one) => one.p50),
      1,
    ),
    spread(
      samples.map((one) => one.p99),
      1,
    ),
  ])
  return table([title, 'p50 ms', 'p99 ms'], rows)
}

function spread(samples: readonly number[], digits: number): string {
  const { median, min, max } = spreadOf(samples)
  const number = (value: number) =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return `${number(median)} (${number(min)}–${number(max)})`
}
