import { machineLine, type Machine } from '../machine.ts'
import { spreadOf, type Spread } from '../statistics.ts'
import { table } from '../table.ts'
import type { Contestant } from './contestant.ts'
import { FIGURES, type Figure } from './measures.ts'
import type { Options } from './options.ts'

/** Per contestant and figure: one value for each repetition. */
export type Results = Map<Contestant, Map<Figure, number[]>>

export interface Outcome {
  machine: Machine
  /** Of PostgreSQL. */
  settings: string
  options: Options
  results: Results
}

const RATES = ['oneByOne', 'bulk', 'consume'] as const satisfies readonly Figure[]
const COSTS = [
  'oneByOneNode',
  'oneByOnePostgres',
  'oneByOneRedis',
  'bulkNode',
  'bulkPostgres',
  'bulkRedis',
] as const satisfies readonly Figure[]
const LATENCIES = ['idleP50', 'idleP95', 'idleP99'] as const satisfies readonly Figure[]
const PROCESS_RATES = ['processes1', 'processes4', 'processes8'] as const satisfies readonly Figure[]
const FLATNESS = ['afterFew', 'afterMany'] as const satisfies readonly Figure[]

export function report(outcome: Outcome): { text: string; json: unknown } {
  return { text: textOf(outcome), json: jsonOf(outcome) }
}

function textOf({ machine, settings, options, results }: Outcome): string {
  const { limits, repetitions } = options
  const parts = [
    `Machine: ${machineLine(machine)}.`,
    `PostgreSQL: ${settings}. Redis: no persistence.`,
    `No-op jobs, one producer process, one worker process. ${repetitions} repetitions, contestants interleaved: median ` +
      `(min–max).\nOne by one: 50 at a time, ${limits.jobs} jobs or ${limits.seconds} s; bulk and consume: ${limits.jobs} ` +
      `jobs; idle: ${limits.idleJobs} jobs.`,
    absolutes('Jobs per second', RATES, results),
    absolutes('Processor time per job, µs', COSTS, results),
    absolutes('From enqueue to start of the handler when idle, ms', LATENCIES, results),
    ratios(results),
    flatness(results, limits),
    absolutes('In bulk, jobs per second, by worker processes', PROCESS_RATES, results),
    [...results.keys()].map((contestant) => `${contestant.title}: ${contestant.settings}.`).join('\n'),
  ]
  return `\n${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function absolutes(title: string, figures: readonly Figure[], results: Results): string {
  const shown = figures.filter((figure) => [...results.values()].some((values) => values.has(figure)))
  if (shown.length === 0) return ''
  const rows = [...results].map(([contestant, values]) => [
    contestant.title,
    ...shown.map((figure) => spreadText(figure, values.get(figure))),
  ])
  return table([title, ...shown.map((figure) => FIGURES[figure].title)], rows)
}

/** Of the medians. For rates more is better, for times less. */
function ratios(results: Results): string {
  const all = [...results.keys()]
  const figures: readonly Figure[] = [...RATES, ...LATENCIES]
  const rows = all
    .filter((contestant) => contestant.side === 'reeve')
    .flatMap((reeve) =>
      all
        .filter((contestant) => contestant.side === 'peer')
        .map((peer) => [
          `${reeve.title} / ${peer.title}`,
          ...figures.map((figure) => ratioText(results.get(reeve)?.get(figure), results.get(peer)?.get(figure))),
        ]),
    )
  if (rows.length === 0) return ''
  return table(['Ratio of medians (rates: more is better; times: less)', ...figures.map(titleOf)], rows)
}

function flatness(results: Results, limits: Options['limits']): string {
  const rows = [...results]
    .filter(([, values]) => values.has('afterMany'))
    .map(([contestant, values]) => [
      contestant.title,
      ...FLATNESS.map((figure) => spreadText(figure, values.get(figure))),
      ratioText(values.get('afterMany'), values.get('afterFew')),
    ])
  if (rows.length === 0) return ''
  const head = [limits.finishedFew, limits.finishedMany].map((count) => `after ${count.toLocaleString('en')} finished`)
  return table(['One by one, jobs per second', ...head, 'ratio'], rows)
}

function jsonOf({ machine, settings, options, results }: Outcome): unknown {
  return {
    machine,
    postgres_settings: settings,
    options,
    contestants: [...results].map(([contestant, values]) => ({
      name: contestant.name,
      title: contestant.title,
      side: contestant.side,
      settings: contestant.settings,
      figures: Object.fromEntries(
        [...values].map(([figure, samples]) => [figure, { ...FIGURES[figure], ...spreadOf(samples), samples }]),
      ),
    })),
  }
}

function titleOf(figure: Figure): string {
  return FIGURES[figure].title
}

function spreadText(figure: Figure, samples: readonly number[] | undefined): string {
  if (samples === undefined) return ''
  const digits = FIGURES[figure].unit === 'ms' ? 2 : 0
  const number = (value: number): string =>
    value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  const { median, min, max }: Spread = spreadOf(samples)
  return `${number(median)} (${number(min)}–${number(max)})`
}

function ratioText(above: readonly number[] | undefined, below: readonly number[] | undefined): string {
  if (above === undefined || below === undefined) return ''
  return `${(spreadOf(above).median / spreadOf(below).median).toFixed(2)}×`
}
