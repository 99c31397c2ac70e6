// What `reeve problem verify` prints: a line for each submission and each refused package, and at the end how far verdicts and labels agree.
import type { VerifiedProgram } from '../../doors/judge/verify/verify-submission.ts'
import { plain, print, styled } from '../terminal.ts'
import type { PackageRefusal } from './refusal.ts'

/** One package, verified. */
export interface VerifiedPackage {
  path: string
  /** Why it was not judged; null: it was. */
  refused: PackageRefusal | null
  /** Some of its data is not there. */
  isIncomplete: boolean
  programs: readonly VerifiedProgram[]
}

const STYLES = { 'as labelled': 'green', differs: 'red', 'not labelled': 'yellow', 'not judged': 'gray' } as const
const WHY_CHARS_MAX = 300

export function printProgram({ submission, outcome, kind, judged, why }: VerifiedProgram): void {
  const got = judged === null ? '' : `${judged.verdict}${judged.score === null ? '' : ` ${judged.score}`}`
  const time = judged === null ? '' : `${judged.timeMs} ms`
  const name = plain(submission.name).padEnd(56)
  const reason = plain(kind === null ? why : `${kind}: ${why}`).slice(0, WHY_CHARS_MAX)
  print(
    `${styled(STYLES[outcome], outcome.padEnd(12))} ${name} ${got.padEnd(7)} ${time.padStart(8)}  ${reason}`.trimEnd(),
  )
  if (outcome !== 'differs' || judged === null) return
  if (judged.verdict === 'CE') print(plain(judged.compileOutput.slice(0, 1000)))
  const failed = judged.tests.find((test) => test.verdict !== 'AC')
  if (failed !== undefined)
    print(`             ${failed.test.name}: ${failed.verdict} ${plain(failed.message)}`.trimEnd())
}

export function printRefusal(path: string, { kind, why }: PackageRefusal): void {
  print(`${styled('red', 'refused')} ${plain(path)}: ${kind === 'package' ? '' : `${kind}: `}${plain(why)}`)
}

export const linesOf = ({ path, refused, isIncomplete, programs }: VerifiedPackage): object[] =>
  refused === null
    ? programs.map((program) => ({ package: path, complete: !isIncomplete, ...lineOf(program) }))
    : [{ package: path, refused: refused.why, kind: refused.kind }]

const lineOf = ({ submission, outcome, kind, judged, why }: VerifiedProgram) => ({
  submission: submission.name,
  language: submission.language?.id ?? null,
  expected: submission.label?.verdicts ?? null,
  verdict: judged?.verdict ?? null,
  ...(judged?.score === null || judged === null ? {} : { score: judged.score }),
  time_ms: judged?.timeMs ?? null,
  mem_kb: judged?.memKb ?? null,
  outcome,
  kind,
  why,
})

export function printSummary(packages: readonly VerifiedPackage[]): void {
  const refused = packages.filter((one) => one.refused !== null)
  const incomplete = packages.filter((one) => one.isIncomplete)
  const complete = packages.filter((one) => one.refused === null && !one.isIncomplete)
  print()
  print(
    `${packages.length} packages: ${complete.length} complete, ${incomplete.length} incomplete, ${refused.length} refused`,
  )
  printAgreement('complete packages', complete)
  if (incomplete.length > 0) printAgreement('incomplete packages', incomplete)
}

function printAgreement(which: string, packages: readonly VerifiedPackage[]): void {
  const programs = packages.flatMap((one) => one.programs)
  const of = (outcome: VerifiedProgram['outcome']) => programs.filter((one) => one.outcome === outcome)
  const agreeing = of('as labelled').length
  const differing = of('differs')
  const all = agreeing + differing.length
  const share = all === 0 ? '' : ` (${(Math.floor((1000 * agreeing) / all) / 10).toFixed(1)} %)`
  print(`${which}: ${all} labelled submissions judged, ${agreeing} as labelled${share}, ${differing.length} differ`)
  printCounts('differ', differing, ({ kind }) => kind ?? '')
  printCounts('not judged', of('not judged'), ({ why }) => why)
  if (of('not labelled').length > 0) print(`  not labelled: ${of('not labelled').length}`)
}

function printCounts(
  what: string,
  programs: readonly VerifiedProgram[],
  classOf: (one: VerifiedProgram) => string,
): void {
  const counts = new Map<string, number>()
  for (const one of programs) counts.set(classOf(one), (counts.get(classOf(one)) ?? 0) + 1)
  const sorted = [...counts].sort(([, a], [, b]) => b - a)
  if (sorted.length > 0) print(`  ${what}: ${sorted.map(([name, count]) => `${count} ${name}`).join(', ')}`)
}
