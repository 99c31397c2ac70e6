import { parseArgs } from 'node:util'
import { pick, positive } from '../options.ts'
import { isVariant, VARIANTS, type Variant } from './variants.ts'

export const MEASURES = ['accept', 'steady', 'end-to-end'] as const
export type Measure = (typeof MEASURES)[number]

export interface Options {
  variants: readonly Variant[]
  measures: readonly Measure[]
  seconds: number
  /** Of the steady measure. */
  rate: number
  connections: number
  /** End to end. */
  challenges: number
  repetitions: number
  jsonFile: string | null
  checks: boolean
}

const FULL = { seconds: 5, rate: 1000, connections: 64, challenges: 10_000, repetitions: 3 }
const QUICK = { ...FULL, seconds: 1, challenges: 500, repetitions: 1 }

export const OPTIONS_HELP = `\
  --only a,b         what answers (${Object.keys(VARIANTS).join(', ')})
  --measure a,b      measures (${MEASURES.join(', ')})
  --seconds N        of one measurement (${FULL.seconds})
  --rate N           requests per second of the steady measure (${FULL.rate})
  --connections N    (${FULL.connections})
  --challenges N     end to end (${FULL.challenges})
  --repetitions N    (${FULL.repetitions})
  --json FILE        write every number there, too
  --check            fail if a figure is worse than docs/performance.md promises
  --quick            one small repetition: shows that it works, not how fast`

export function parseOptions(args: string[]): Options {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args,
    options: {
      only: text,
      measure: text,
      seconds: text,
      rate: text,
      connections: text,
      challenges: text,
      repetitions: text,
      json: text,
      check: { type: 'boolean' },
      quick: { type: 'boolean' },
    },
  })
  const base = values.quick === true ? QUICK : FULL
  const number = (name: 'seconds' | 'rate' | 'connections' | 'challenges' | 'repetitions') =>
    positive(`--${name}`, values[name]) ?? base[name]
  return {
    variants: pick('--only', values.only, Object.keys(VARIANTS).filter(isVariant)),
    measures: pick('--measure', values.measure, MEASURES),
    seconds: number('seconds'),
    rate: number('rate'),
    connections: number('connections'),
    challenges: number('challenges'),
    repetitions: number('repetitions'),
    jsonFile: values.json ?? null,
    checks: values.check === true,
  }
}
