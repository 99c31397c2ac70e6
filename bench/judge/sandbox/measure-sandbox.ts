// Contestants take turns of a few runs each, and each repetition starts with another one: when the machine drifts, it drifts for all.

import { spreadOf, percentile } from '../../statistics.ts'
import { table } from '../../table.ts'
import type { Part } from '../suite.ts'
import { findContestants, type Contestant, type Field } from './contestants.ts'
import { measurePrecision, type Precision } from './precision.ts'

const WIDTHS = [1, 2] as const
const TURN_RUNS = 20
const OVERSHOOTS_PER_REPETITION = 6
/** Promised in docs/judge-sandbox.md: a warm run to a bare spawn, one at a time. */
const WARM_TO_BARE_MAX = 0.6

interface Samples {
  /** Milliseconds per run, one at a time. */
  alone: number[]
  /** Runs per second, two at a time. */
  pair: number[]
}

export const measureSandbox: Part = async ({ runs, repetitions, isolate }, folder, teardown) => {
  const field: Field = { folder, isolate, teardown }
  const { contestants, missing } = await findContestants(field)
  const ways = new Map<Contestant, (() => Promise<void>)[]>()
  for (const contestant of contestants) ways.set(contestant, [await contestant.prepare(), await contestant.prepare()])
  const results = new Map<Contestant, Samples>(contestants.map((contestant) => [contestant, { alone: [], pair: [] }]))

  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    const first = repetition % contestants.length
    for (const width of WIDTHS) {
      const order = [...contestants.slice(first), ...contestants.slice(0, first)]
      const spent = await timeTurns(order, (contestant) => (ways.get(contestant) ?? []).slice(0, width), runs)
      for (const [contestant, ms] of spent) {
        console.error(
          `${repetition + 1}/${repetitions}  ${width} at a time  ${contestant.title.padEnd(20)} ${(ms / runs).toFixed(2)} ms`,
        )
        const samples = results.get(contestant)
        if (width === 1) samples?.alone.push(ms / runs)
        else samples?.pair.push((runs / ms) * 1000)
      }
    }
  }
  const precision = await measurePrecision(field, repetitions * OVERSHOOTS_PER_REPETITION)
  const ratio = warmToBare(results)
  const said = `A warm box takes ${ratio.toFixed(2)} × a bare spawn (promised: at most ${WARM_TO_BARE_MAX}).`
  return {
    text: [costs(results), said, limits(precision), ...abouts(contestants), ...missing].join('\n\n'),
    broken: ratio <= WARM_TO_BARE_MAX ? [] : [said],
    json: {
      warmToBare: ratio,
      contestants: [...results].map(([{ name, title, about }, samples]) => ({ name, title, about, ...samples })),
      precision,
    },
  }
}

/** The median over repetitions, each compared with itself. NaN, which keeps no promise, where one of them was not measured. */
function warmToBare(results: ReadonlyMap<Contestant, Samples>): number {
  const alone = (name: string) => [...results].find(([one]) => one.name === name)?.[1].alone ?? []
  const bare = alone('bare')
  return percentile(
    alone('agent').map((ms, repetition) => ms / (bare[repetition] ?? NaN)),
    50,
  )
}

/** Milliseconds that each of them took for that many runs. */
async function timeTurns(
  order: readonly Contestant[],
  waysOf: (contestant: Contestant) => readonly (() => Promise<void>)[],
  runs: number,
): Promise<ReadonlyMap<Contestant, number>> {
  const spent = new Map<Contestant, number>()
  for (let done = 0; done < runs; done += TURN_RUNS) {
    for (const contestant of order) {
      const ms = await timeRuns(waysOf(contestant), Math.min(TURN_RUNS, runs - done))
      spent.set(contestant, (spent.get(contestant) ?? 0) + ms)
    }
  }
  return spent
}

/** How long it takes to do that many runs, each way busy with one at a time. */
async function timeRuns(ways: readonly (() => Promise<void>)[], runs: number): Promise<number> {
  let left = runs
  const started = performance.now()
  await Promise.all(
    ways.map(async (run) => {
      while (left > 0) {
        left -= 1
        await run()
      }
    }),
  )
  return performance.now() - started
}

function costs(results: ReadonlyMap<Contestant, Samples>): string {
  const bare = [...results].find(([{ name }]) => name === 'bare')?.[1]
  const text = (samples: readonly number[], digits: number) => {
    const { median, min, max } = spreadOf(samples)
    return `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`
  }
  const ratio = (samples: readonly number[], to: readonly number[] | undefined) =>
    to === undefined ? '' : `${(percentile(samples, 50) / percentile(to, 50)).toFixed(2)}×`
  return table(
    [
      'Running /bin/true, from Node: median (min–max)',
      'ms, one at a time',
      'of bare',
      'runs/s, two at a time',
      'of bare',
    ],
    [...results].map(([{ title }, { alone, pair }]) => [
      title,
      text(alone, 2),
      ratio(alone, bare?.alone),
      text(pair, 0),
      ratio(pair, bare?.pair),
    ]),
  )
}

function limits({ overshootMs, memoryEdgeBytes }: Precision): string {
  const overshoot = (samples: readonly number[]) => [
    percentile(samples, 50).toFixed(0),
    Math.max(...samples).toFixed(0),
    String(samples.length),
  ]
  const kb = (bytes: number) => `${(bytes / 1024).toFixed(0)} KB`
  return [
    table(
      ['CPU time past the limit, ms', 'median', 'worst', 'runs'],
      [
        ['a program that spins', ...overshoot(overshootMs.one)],
        ['one whose child spins', ...overshoot(overshootMs.child)],
      ],
    ),
    table(
      ['Memory limit', 'largest array below it by', 'reported beyond the array'],
      memoryEdgeBytes.map(({ limitMb, edge, reportedOff }) => [`${limitMb} MB`, kb(edge), kb(reportedOff)]),
    ),
  ].join('\n\n')
}

const abouts = (contestants: readonly Contestant[]): string[] => [
  contestants.map(({ title, about }) => `${title}: ${about}.`).join('\n'),
]
