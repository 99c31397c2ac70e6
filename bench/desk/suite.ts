// `npm run bench -- desk`: programs wait over HTTP for people to solve; how soon are they told?
import { parseArgs } from 'node:util'
import { describeMachine, machineLine } from '../machine.ts'
import { pick, positive } from '../options.ts'
import { percentile } from '../statistics.ts'
import type { Suite } from '../suite.ts'
import { table } from '../table.ts'
import { createTeardown, type Teardown } from '../teardown.ts'
import { openField, type Mode } from './field.ts'
import { allForOne, eachItsOwn, type Sizes } from './measures.ts'

const MODES: readonly Mode[] = ['PostgreSQL', 'Redis']
const FULL: Sizes = { waiters: 2000, rate: 50 } // two thousand people who take 40 s each
const QUICK: Sizes = { waiters: 100, rate: 100 }
const P99_MS_MAX = 50

export const deskSuite: Suite = {
  name: 'desk',
  summary: 'From a solution to the programs that wait for it, with 2,000 of them waiting',
  options: `\
  --waiters N        programs that wait (${FULL.waiters})
  --rate N           solutions per second (${FULL.rate})
  --mode a,b         PostgreSQL, Redis (both)
  --quick            few programs: shows that it works, not how fast`,

  async run(args, teardown) {
    const { sizes, modes } = parseOptions(args)
    for (const mode of modes) {
      const own = createTeardown()
      const stop = teardown.add(() => own.runAll())
      await report(mode, sizes, own)
      await stop()
    }
  },
}

async function report(mode: Mode, sizes: Sizes, teardown: Teardown): Promise<void> {
  const field = await openField(mode, teardown)
  await eachItsOwn(field, { ...sizes, waiters: Math.min(200, sizes.waiters) }) // the first requests of a process are no measure
  const { fromRequest, fromAnswer } = await eachItsOwn(field, sizes)
  const herd = await allForOne(field, sizes)

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
        row('solve sent → program has it', fromRequest),
        row('solve answered → program has it', fromAnswer),
        row('one session for all: solve sent → each has it', herd),
      ],
    ),
  )
  const p99 = percentile(fromRequest, 99)
  console.log(`\np99 ${p99.toFixed(1)} ms: ${p99 < P99_MS_MAX ? 'under' : 'OVER'} ${P99_MS_MAX} ms`)
}

function parseOptions(args: string[]): { sizes: Sizes; modes: readonly Mode[] } {
  const { values } = parseArgs({
    args,
    options: {
      waiters: { type: 'string' },
      rate: { type: 'string' },
      mode: { type: 'string' },
      quick: { type: 'boolean', default: false },
    },
  })
  const size = values.quick ? QUICK : FULL
  return {
    sizes: {
      waiters: positive('--waiters', values.waiters) ?? size.waiters,
      rate: positive('--rate', values.rate) ?? size.rate,
    },
    modes: pick('--mode', values.mode, MODES),
  }
}
