import { parseArgs } from 'node:util'
import { pick, positive } from '../options.ts'
import { CONTESTANTS } from './contestants.ts'
import { MEASURES, type MeasureName } from './measures.ts'

export interface Limits {
  /** Jobs in bulk and to consume, and at most this many one by one. */
  jobs: number
  /** Enqueueing one by one ends after this time even if jobs are left. */
  seconds: number
  idleJobs: number
  /** The numbers of finished jobs between which the cost of a job must stay flat. */
  finishedFew: number
  finishedMany: number
}

export interface Options {
  limits: Limits
  repetitions: number
  /** By so much a flush to the disk takes longer. */
  flushMs: number
  /** The statements of the ledger are timed beside so many finished jobs. Null: not at all. */
  finished: number | null
  contestants: readonly string[]
  measures: readonly MeasureName[]
  jsonFile: string | null
  checks: boolean
}

const FULL = { jobs: 50_000, seconds: 5, idleJobs: 200, finishedFew: 10_000, finishedMany: 1_000_000, repetitions: 3 }
const QUICK = { jobs: 5_000, seconds: 1, idleJobs: 20, finishedFew: 1_000, finishedMany: 50_000, repetitions: 1 }

export const OPTIONS_HELP = `\
  --only a,b         contestants (${CONTESTANTS.map((contestant) => contestant.name).join(', ')})
  --measure a,b      measures (${MEASURES.map((measure) => measure.name).join(', ')})
  --jobs N           jobs in bulk and to consume, at most as many one by one (${FULL.jobs})
  --seconds N        longest time to enqueue one by one (${FULL.seconds})
  --idle-jobs N      jobs whose start is timed when idle (${FULL.idleJobs})
  --repetitions N    (${FULL.repetitions})
  --finished N       time each statement beside 10,000 and beside N finished jobs (10,000,000: 3 GB of disk, some minutes)
  --flush-ms N       a slow disk: every fsync of PostgreSQL takes so many ms more
  --json FILE        write every number there, too
  --check            fail if a ratio is below what docs/performance.md promises
  --quick            one small repetition: shows that it works, not how fast`

export function parseOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      only: { type: 'string' },
      measure: { type: 'string' },
      jobs: { type: 'string' },
      seconds: { type: 'string' },
      'idle-jobs': { type: 'string' },
      repetitions: { type: 'string' },
      'flush-ms': { type: 'string' },
      finished: { type: 'string' },
      json: { type: 'string' },
      check: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
    },
  })
  const size = values.quick ? QUICK : FULL
  return {
    limits: {
      jobs: positive('--jobs', values.jobs) ?? size.jobs,
      seconds: positive('--seconds', values.seconds) ?? size.seconds,
      idleJobs: positive('--idle-jobs', values['idle-jobs']) ?? size.idleJobs,
      finishedFew: size.finishedFew,
      finishedMany: size.finishedMany,
    },
    repetitions: positive('--repetitions', values.repetitions) ?? size.repetitions,
    flushMs: positive('--flush-ms', values['flush-ms']) ?? 0,
    finished: positive('--finished', values.finished) ?? null,
    contestants: pick('--only', values.only, namesOf(CONTESTANTS)),
    measures: pick('--measure', values.measure, namesOf(MEASURES)),
    jsonFile: values.json ?? null,
    checks: values.check,
  }
}

function namesOf<Name extends string>(items: readonly { name: Name }[]): readonly Name[] {
  return items.map((item) => item.name)
}
