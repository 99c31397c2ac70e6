// The ledger against its peers, in one run on one machine with the same servers. Repetitions go round the contestants
// measure by measure, and each repetition starts with another contestant: when the machine drifts (another process, a
// warm disk, a hot processor) it drifts for all.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeMachine } from '../machine.ts'
import { startPostgres } from '../servers/postgres.ts'
import { startRedis } from '../servers/redis.ts'
import type { Suite } from '../suite.ts'
import type { Teardown } from '../teardown.ts'
import { inNewCell, type Field } from './cell.ts'
import type { Contestant } from './contestant.ts'
import { CONTESTANTS } from './contestants.ts'
import { applies, FIGURES, MEASURES, type Measure, type Sample } from './measures.ts'
import { OPTIONS_HELP, parseOptions, type Options } from './options.ts'
import { brokenPromises } from './promises.ts'
import { report, type Results } from './report.ts'
import { measureStatements, slowStatements, statementsTable } from './statements.ts'

export const ledgerSuite: Suite = {
  name: 'ledger',
  summary: 'Reeve, graphile-worker, pg-boss and BullMQ: no-op jobs per second, and the start of one when idle',
  options: OPTIONS_HELP,

  async run(args, teardown) {
    const options = parseOptions(args)
    const field = await openField(teardown, options)
    const contestants = CONTESTANTS.filter((contestant) => options.contestants.includes(contestant.name))
    const results: Results = new Map(contestants.map((contestant) => [contestant, new Map()]))

    if (options.finished !== null) return timeStatements(field, options.finished, options.checks)

    for (const { contestant, measure, label } of schedule(contestants, options)) {
      const sample = await inNewCell(field, contestant, (cell) => measure.take(cell, options.limits))
      console.error(`${label}  ${sampleLine(sample)}`)
      record(results, contestant, sample)
    }

    const { version: postgresVersion, settings } = field.postgres
    const machine = describeMachine({ postgresVersion, redisVersion: field.redis.version })
    const { text, json } = report({ machine, settings, options, results })
    console.log(text)
    if (options.jsonFile !== null) await writeFile(options.jsonFile, `${JSON.stringify(json, null, 2)}\n`)
    const broken = options.checks ? brokenPromises(results) : []
    if (broken.length > 0) throw new Error(`Below what docs/performance.md promises:\n${broken.join('\n')}`)
  },
}

async function timeStatements(field: Field, finished: number, checks: boolean): Promise<void> {
  const times = await measureStatements(field, finished)
  console.log(`\n${statementsTable(times, finished)}\n`)
  const slow = checks ? slowStatements(times) : []
  if (slow.length > 0) throw new Error(`Slower than docs/performance.md promises:\n${slow.join('\n')}`)
}

async function openField(teardown: Teardown, { flushMs }: Options): Promise<Field> {
  const folder = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
  teardown.add(() => rm(folder, { recursive: true, force: true }))
  const postgres = await startPostgres(folder, teardown, { flushMs })
  const redis = await startRedis(folder, teardown)
  return { postgres, redis, teardown }
}

interface Turn {
  contestant: Contestant
  measure: Measure
  label: string
}

function schedule(contestants: readonly Contestant[], { repetitions, measures }: Options): Turn[] {
  return Array.from({ length: repetitions }, (_, repetition) => {
    const first = repetition % Math.max(1, contestants.length)
    const order = [...contestants.slice(first), ...contestants.slice(0, first)]
    return MEASURES.filter((measure) => measures.includes(measure.name)).flatMap((measure) =>
      order
        .filter((contestant) => applies(measure, contestant))
        .map((contestant) => ({
          contestant,
          measure,
          label: `${repetition + 1}/${repetitions}  ${measure.name.padEnd(10)}  ${contestant.title.padEnd(24)}`,
        })),
    )
  }).flat()
}

function record(results: Results, contestant: Contestant, sample: Sample): void {
  const mine = results.get(contestant)
  for (const [figure, value] of sample) mine?.set(figure, [...(mine.get(figure) ?? []), value])
}

function sampleLine(sample: Sample): string {
  return sample
    .map(([figure, value]) => `${value.toFixed(FIGURES[figure].unit === 'ms' ? 2 : 0)} ${FIGURES[figure].unit}`)
    .join('  ')
}
