// A package judged by itself: each of its labelled submissions gets the verdict of its label, or the package, its time
// limit or its label is wrong.
import type { Logger } from 'pino'
import { newJobId } from '../../../core/random.ts'
import { judgeSubmission, type Judged } from '../work/judge-submission.ts'
import type { Language } from '../languages/language.ts'
import type { TestResult } from '../work/run-test.ts'
import type { LoadedProblem } from '../work/test-run.ts'
import { maxScoreOf } from '../work/judge-tests.ts'
import { Interrupted, JudgeFailure } from '../work/box-run.ts'
import type { JudgeWorker } from '../work/judge-worker.ts'
import { findSubmissions, type LabelledSubmission } from './labelled-submissions.ts'

export type LabelOutcome = 'as labelled' | 'differs' | 'not labelled' | 'not judged'

export interface VerifiedProgram {
  submission: LabelledSubmission
  outcome: LabelOutcome
  judged: Judged | null
  /** Why it differs, or was not judged. */
  why: string
}

export interface VerifyContext {
  signal: AbortSignal
  log: Logger
  isWanted?: (submission: LabelledSubmission) => boolean
  onBegin?: (submission: LabelledSubmission) => void
  onTest?: (tested: TestResult) => void
  onEnd?: (verified: VerifiedProgram) => void
}

export async function verifyPackage(
  worker: JudgeWorker,
  problem: LoadedProblem,
  languages: ReadonlyMap<string, Language>,
  context: VerifyContext,
): Promise<VerifiedProgram[]> {
  const all: VerifiedProgram[] = []
  for (const submission of await findSubmissions(problem.package.folder, languages)) {
    if (context.isWanted?.(submission) === false) continue
    context.onBegin?.(submission)
    const verified = await verifySubmission(worker, problem, submission, context)
    all.push(verified)
    context.onEnd?.(verified)
  }
  return all
}

async function verifySubmission(
  worker: JudgeWorker,
  problem: LoadedProblem,
  submission: LabelledSubmission,
  context: VerifyContext,
): Promise<VerifiedProgram> {
  const { language, files, entry, label } = submission
  const notJudged = (why: string): VerifiedProgram => ({ submission, outcome: 'not judged', judged: null, why })
  if (language === null) return notJudged('in a language that is not judged here')
  if (!worker.toolchains.has(language.id)) return notJudged(`${language.name} is not installed`)
  try {
    const asked = { jobId: newJobId(), attemptId: 1, language: language.id, files, entry }
    const judged = await judgeSubmission(worker, problem, asked, context)
    if (label === null) return { submission, outcome: 'not labelled', judged, why: '' }
    const why = differenceOf(judged, submission, problem)
    return { submission, outcome: why === '' ? 'as labelled' : 'differs', judged, why }
  } catch (error) {
    if (error instanceof Interrupted) throw error
    const detail = error instanceof JudgeFailure && error.detail !== '' ? ` ${error.detail}` : ''
    const why = `${error instanceof Error ? error.message : String(error)}${detail}`
    return { submission, outcome: 'differs', judged: null, why: `System Error: ${why}` }
  }
}

function differenceOf(judged: Judged, { label }: LabelledSubmission, problem: LoadedProblem): string {
  if (label === null) return ''
  if (!label.verdicts.includes(judged.verdict)) return `expected ${label.verdicts.join(' or ')}`
  const most = maxScoreOf(problem.package.root)
  if (!label.isPartial || judged.score === null || most === null) return ''
  return judged.score > 0 && judged.score < most ? '' : `expected a part of ${most} points`
}
