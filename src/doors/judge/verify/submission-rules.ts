// submissions/submissions.yaml of the newer format: what a submission must and may get, on all tests or on some.
import { join } from 'node:path'
import { isObject } from '../../../core/values/is-object.ts'
import { readSmallText } from '../package/files.ts'
import { PackageError } from '../package/package.ts'
import { FieldReader, parseYaml, type YamlFields } from '../package/yaml-fields.ts'
import type { Verdict } from '../submissions/verdict.ts'
import type { Judged } from '../work/judge-submission.ts'
import { matchesGlob } from './glob.ts'

export interface SubmissionRule {
  /** Of the tests that it is about; null: of all. */
  tests: string | null
  /** Null: anything. */
  permitted: readonly Verdict[] | null
  required: readonly Verdict[] | null
  score: readonly [min: number, max: number] | null
}

export interface SubmissionRules {
  /** In place of what the folder's name says. */
  replacesLabelOf(folder: string): boolean
  of(name: string): SubmissionRule[]
  entryOf(name: string): string | undefined
}

const FILE = 'submissions.yaml'
const VERDICTS: Readonly<Record<string, readonly Verdict[]>> = {
  AC: ['AC'],
  WA: ['WA'],
  TLE: ['TLE'],
  RTE: ['RE', 'MLE', 'OLE'],
}

export async function readSubmissionRules(packageFolder: string): Promise<SubmissionRules> {
  const text = await readSmallText(join(packageFolder, 'submissions', FILE))
  const entries = Object.entries(text === null ? {} : parseYaml(FILE, text)).map(([pattern, about]) => {
    if (!isObject(about)) throw new PackageError(`${FILE}: ${pattern} must be a mapping.`)
    return { pattern, about, rules: rulesFrom(pattern, about) }
  })
  const matching = (name: string) => entries.filter(({ pattern }) => matchesGlob(pattern, name))
  return {
    replacesLabelOf: (folder) =>
      entries.some(({ pattern, about }) => pattern === folder && ('permitted' in about || 'required' in about)),
    of: (name) => matching(name).flatMap(({ rules }) => rules),
    entryOf: (name) =>
      matching(name)
        .map(({ about }) => about['entrypoint'])
        .find((entry) => typeof entry === 'string'),
  }
}

/** Keys with a mapping are about some of the tests. */
function rulesFrom(pattern: string, about: YamlFields): SubmissionRule[] {
  const own = ruleFrom(`${FILE}: ${pattern}`, null, about)
  const some = Object.entries(about).flatMap(([tests, fields]) =>
    isObject(fields) ? [ruleFrom(`${FILE}: ${pattern}: ${tests}`, tests, fields)] : [],
  )
  return [own, ...some].filter(
    ({ permitted, required, score }) => permitted !== null || required !== null || score !== null,
  )
}

function ruleFrom(place: string, tests: string | null, fields: YamlFields): SubmissionRule {
  const reader = new FieldReader(place, fields)
  const verdicts = (name: string) =>
    reader.words(name)?.flatMap((word) => {
      const known = VERDICTS[word]
      if (known === undefined) throw new PackageError(`${place}: ${word} is not a verdict.`)
      return known
    }) ?? null
  const [min, max = min] = reader.words('score')?.map(Number) ?? []
  return {
    tests,
    permitted: verdicts('permitted'),
    required: verdicts('required'),
    score: min === undefined || max === undefined ? null : [min, max],
  }
}

/** What is not as the rule has it; empty: nothing. A test that was not run, because judging had stopped, proves nothing. */
export function brokenRule(rule: SubmissionRule, judged: Judged, testsOfPackage: readonly { name: string }[]): string {
  const { tests, permitted, required, score } = rule
  const isMeant = ({ name }: { name: string }) => tests === null || matchesGlob(tests, name)
  const run = judged.tests.filter(({ test }) => isMeant(test))
  const where = tests === null ? '' : ` on ${tests}`
  const refused = run.find(({ verdict }) => permitted !== null && !permitted.includes(verdict))
  if (refused !== undefined) return `${refused.test.name}: only ${permitted?.join(', ')} permitted`
  const wasAllRun = run.length === testsOfPackage.filter(isMeant).length
  if (required !== null && wasAllRun && !run.some(({ verdict }) => required.includes(verdict)))
    return `${required.join(' or ')} required${where}`
  const given = tests === null ? judged.score : (judged.groups.find(({ name }) => name === tests)?.score ?? null)
  if (score !== null && given !== null && (given < score[0] || given > score[1]))
    return `expected ${score[0] === score[1] ? score[0] : `${score[0]} to ${score[1]}`} points${where}`
  return ''
}
