// A package judged by itself: each of its labelled submissions gets the verdict of its label, or the package, its time
// limit or its label is wrong.
import type { Logger } from 'pino'
import { newJobId } from '../../../core/random.ts'
import { judgeSubmission, type Judged } from '../judge-submission.ts'
import type { Language } from '../languages/language.ts'
import type { Examined } from '../work/examine.ts'
import type { Problem } from '../work/examination.ts'
import { maxScoreOf } from '../work/judge-tests.ts'
import { Interrupted } from '../work/running.ts'
import type { Workroom } from '../work/workroom.ts'
import { findSubmissions, type LabelledSubmission } from './labelled-submissions.ts'

export type Outcome = 'as labelled' | 'differs' | 'not labelled' | 'not judged'

export interface Verified {
  submission: LabelledSubmission
  outcome: Outcome
  judged: Judged | null
  /** Why it differs, or was not judged. */
  why: string
}

export interface VerifyContext {
  signal: AbortSignal
  log: Logger
  isWanted?: (submission: LabelledSubmission) => boolean
  onBegin?: (submission: LabelledSubmission) => void
  onTest?: (examined: Examined) => void
  onEnd?: (verified: Verified) => void
}

export async function verifyPackage(
  workroom: Workroom,
  problem: Problem,
  languages: ReadonlyMap<string, Language>,
  context: VerifyContext,
): Promise<Verified[]> {
  const all: Verified[] = []
  for (const submission of await findSubmissions(problem.package.folder, languages)) {
    if (context.isWanted?.(submission) === false) continue
    context.onBegin?.(submission)
    const verified = await verifySubmission(workroom, problem, submission, context)
    all.push(verified)
    context.onEnd?.(verified)
  }
  return all
}

async function verifySubmission(
  workroom: Workroom,
  problem: Problem,
  submission: LabelledSubmission,
  context: VerifyContext,
): Promise<Verified> {
  const { language, files, entry, label } = submission
  const notJudged = (why: string): Verified => ({ submission, outcome: 'not judged', judged: null, why })
  if (language === null) return notJudged('in a language that is not judged here')
  if (!workroom.toolchains.has(language.id)) return notJudged(`${language.name} is not installed`)
  try {
    const asked = { jobId: newJobId(), attemptId: 1, language: language.id, files, entry }
    const judged = await judgeSubmission(workroom, problem, asked, context)
    if (label === null) return { submission, outcome: 'not labelled', judged, why: '' }
    const why = differenceOf(judged, submission, problem)
    return { submission, outcome: why === '' ? 'as labelled' : 'differs', judged, why }
  } catch (error) {
    if (error instanceof Interrupted) throw error
    const why = error instanceof Error ? error.message : String(error)
    return { submission, outcome: 'differs', judged: null, why: `System Error: ${why}` }
  }
}

function differenceOf(judged: Judged, { label }: LabelledSubmission, problem: Problem): string {
  if (label === null) return ''
  if (!label.verdicts.includes(judged.verdict)) return `expected ${label.verdicts.join(' or ')}`
  const most = maxScoreOf(problem.package.root)
  if (!label.isPartial || judged.score === null || most === null) return ''
  return judged.score > 0 && judged.score < most ? '' : `expected a part of ${most} points`
}
