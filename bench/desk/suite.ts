// `npm run bench -- desk`: programs wait over HTTP for people to solve; how soon are they told?
import { parseArgs } from 'node:util'
import { describeMachine, machineLine } from '../machine.ts'
import { pick, positive } from '../options.ts'
import { above } from '../promised.ts'
import { percentile } from '../statistics.ts'
import type { Suite } from '../suite.ts'
import { table } from '../table.ts'
import { createTeardown, type Teardown } from '../teardown.ts'
import { openField, type Field, type Mode } from './field.ts'
import { allForOne, eachItsOwn, type Herd, type Sizes } from './measures.ts'

const MODES: readonly Mode[] = ['PostgreSQL', 'Redis']
const FULL: Sizes = { waiters: 2000, rate: 50 } // two thousand people who take 40 s each
const QUICK: Sizes = { waiters: 100, rate: 100 }
const MEASURES = ['own', 'herd'] as const
type Measure = (typeof MEASURES)[number]

/** What docs/performance.md promises, p99 in milliseconds, on 2 quiet cores. */
const PROMISED: Readonly<Record<Measure, number>> = { own: 50, herd: 300 }

export const deskSuite: Suite = {
  name: 'desk',
  summary: 'From a solution to the programs that wait for it, with 2,000 of them waiting',
  options: `\
  --waiters N        programs that wait (${FULL.waiters})
  --rate N           solutions per second (${FULL.rate})
  --mode a,b         PostgreSQL, Redis (both)
  --measures LIST    own: each program waits for its own task; herd: all for one session (both)
  --quick            few programs: shows that it works, not how fast
  --check            end with an error if a promise of docs/performance.md is not kept`,

  async run(args, teardown) {
    const { sizes, modes, measures, isCheck } = parseOptions(args)
    const broken: string[] = []
    for (const mode of modes) {
      const own = createTeardown()
      const stop = teardown.add(() => own.runAll())
      broken.push(...(await report(mode, measures, sizes, own)))
      await stop()
    }
    for (const line of broken) console.log(line)
    if (isCheck && broken.length > 0) throw new Error('Promises of docs/performance.md were not kept.')
  },
}

/** What is above its promise. */
async function report(mode: Mode, measures: readonly Measure[], sizes: Sizes, teardown: Teardown): Promise<string[]> {
  const field = await openField(mode, teardown)
  await eachItsOwn(field, { ...sizes, waiters: Math.min(200, sizes.waiters) }) // the first requests of a process are no measure
  const own = measures.includes('own') ? await eachItsOwn(field, sizes) : null
  const herd = measures.includes('herd') ? await herdOf(field, sizes) : null

  const { postgresVersion, redisVersion } = field
  console.log(`\n${mode}: ${machineLine(describeMachine({ postgresVersion, redisVersion }))}`)
  console.log(`${sizes.waiters} programs wait over HTTP; ${sizes.rate} solutions per second\n`)
  const row = (name: string, values: readonly number[]) => [
    name,
    ...[50, 99, 100].map((rank) => percentile(values, rank).toFixed(1)),
  ]
  console.log(
    table(
      ['milliseconds', 'p50', 'p99', 'max'],
      [
        ...(own === null ? [] : [row('solve sent → program has it', own.fromRequest)]),
        ...(own === null ? [] : [row('solve answered → program has it', own.fromAnswer)]),
        ...(herd === null ? [] : [row('one session for all: solve sent → each has it', herd.latencies)]),
      ],
    ),
  )
  if (herd !== null) {
    const { server, postgres, load } = herd.processor
    const figures = [server, postgres, load].map((micros) => micros.toFixed(0)).join(' + ')
    console.log(`\none session for all: processor time of server + PostgreSQL + load for each program, µs: ${figures}`)
  }
  return [
    ...(own === null ? [] : above(`${mode}, own task, p99 ms`, percentile(own.fromRequest, 99), PROMISED.own)),
    ...(herd === null ? [] : above(`${mode}, one session, p99 ms`, percentile(herd.latencies, 99), PROMISED.herd)),
  ]
}

/** The first time opens the connections of those who wait. */
async function herdOf(field: Field, sizes: Sizes): Promise<Herd> {
  await allForOne(field, 'first-herd.example', sizes)
  return allForOne(field, 'herd.example', sizes)
}

function parseOptions(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      waiters: { type: 'string' },
      rate: { type: 'string' },
      mode: { type: 'string' },
      measures: { type: 'string' },
      quick: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
    },
  })
  const size = values.quick ? QUICK : FULL
  return {
    sizes: {
      waiters: positive('--waiters', values.waiters) ?? size.waiters,
      rate: positive('--rate', values.rate) ?? size.rate,
    },
    modes: pick('--mode', values.mode, MODES),
    measures: pick('--measures', values.measures, MEASURES),
    isCheck: values.check,
  }
}
