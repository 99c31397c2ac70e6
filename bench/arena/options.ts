import { parseArgs } from 'node:util'
import { pick, positive } from '../options.ts'

export const MEASURES = ['processor', 'colyseus', 'plain', 'bare', 'reeve', 'pairing', 'leaderboard'] as const

export interface Options {
  measures: readonly (typeof MEASURES)[number][]
  /** Numbers of sessions, rising: each step adds to the one before. */
  reeveSteps: readonly number[]
  colyseusSteps: readonly number[]
  measureMs: number
  /** Players who are paired. */
  queued: number
  /** On the leaderboard. */
  accounts: number
  jsonFile: string | null
  /** Fail if a figure is worse than what docs/arena.md promises. */
  check: boolean
}

const FULL = {
  reeve: [500, 1000, 1500, 2000, 2500, 3000, 3250, 3500, 3750, 4000, 4250, 4500, 5000, 5500, 6000],
  colyseus: [250, 500, 750, 1000, 1250, 1500, 1750, 2000, 2500, 3000],
  seconds: 8,
  queued: 10_000,
  accounts: 1_000_000,
}
const QUICK = { reeve: [20, 50], colyseus: [20, 50], seconds: 2, queued: 200, accounts: 5000 }

export const OPTIONS_HELP = `\
  --measure a,b      measures (${MEASURES.join(', ')})
  --sessions a,b     sessions of Reeve and of the servers with ws alone, step by step (${FULL.reeve})
  --peer-sessions    sessions of Colyseus, step by step (${FULL.colyseus})
  --seconds N        how long each step is measured (${FULL.seconds})
  --queued N         players who wait when pairing begins (${FULL.queued})
  --accounts N       on the leaderboard (${FULL.accounts})
  --check            end with an error if the measure processor is worse than docs/arena.md promises
  --json FILE        write every number there, too
  --quick            small numbers: shows that it works, not how fast`

export function parseOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      measure: { type: 'string' },
      sessions: { type: 'string' },
      'peer-sessions': { type: 'string' },
      seconds: { type: 'string' },
      queued: { type: 'string' },
      accounts: { type: 'string' },
      json: { type: 'string' },
      check: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
    },
  })
  const size = values.quick ? QUICK : FULL
  return {
    measures: pick('--measure', values.measure, MEASURES),
    reeveSteps: positives('--sessions', values.sessions) ?? size.reeve,
    colyseusSteps: positives('--peer-sessions', values['peer-sessions']) ?? size.colyseus,
    measureMs: (positive('--seconds', values.seconds) ?? size.seconds) * 1000,
    queued: positive('--queued', values.queued) ?? size.queued,
    accounts: positive('--accounts', values.accounts) ?? size.accounts,
    jsonFile: values.json ?? null,
    check: values.check,
  }
}

const positives = (option: string, text: string | undefined): number[] | undefined =>
  text?.split(',').flatMap((part) => positive(option, part) ?? [])
