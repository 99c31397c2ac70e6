import { parseArgs } from 'node:util'
import { pick, positive } from '../options.ts'

const PARTS = ['sandbox', 'submissions'] as const
const LANGUAGES = ['c', 'cpp', 'python3'] as const

export interface Options {
  parts: readonly (typeof PARTS)[number][]
  /** Of submissions. */
  languages: readonly string[]
  /** Of each contestant in each repetition. */
  runs: number
  /** The same of submissions, which are some ten runs each. */
  submissions: number
  repetitions: number
  /** Where isolate is, if it is not on the path. */
  isolate: string
  jsonFile: string | null
  /** Fail where docs/judge-sandbox.md and docs/performance.md promise more. */
  checks: boolean
}

const FULL = { runs: 200, submissions: 60, repetitions: 5 }
const QUICK = { runs: 20, submissions: 10, repetitions: 1 }

export const OPTIONS_HELP = `\
  --part a,b         (${PARTS.join(', ')})
  --language a,b     of submissions (${LANGUAGES.join(', ')})
  --runs N           runs of each contestant in each repetition (${FULL.runs})
  --submissions N    submissions of each kind in each repetition (${FULL.submissions})
  --repetitions N    (${FULL.repetitions})
  --isolate PATH     the isolate program, set up for its boxes (isolate)
  --json FILE        write every number there, too
  --check            fail where docs/judge-sandbox.md (a warm box) or docs/performance.md (submissions) promise more
  --quick            one small repetition: shows that it works, not how fast`

export function parseOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      part: { type: 'string' },
      language: { type: 'string' },
      runs: { type: 'string' },
      submissions: { type: 'string' },
      repetitions: { type: 'string' },
      isolate: { type: 'string', default: 'isolate' },
      json: { type: 'string' },
      check: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
    },
  })
  const size = values.quick ? QUICK : FULL
  return {
    parts: pick('--part', values.part, PARTS),
    languages: pick('--language', values.language, LANGUAGES),
    runs: positive('--runs', values.runs) ?? size.runs,
    submissions: positive('--submissions', values.submissions) ?? size.submissions,
    repetitions: positive('--repetitions', values.repetitions) ?? size.repetitions,
    isolate: values.isolate,
    jsonFile: values.json ?? null,
    checks: values.check,
  }
}
