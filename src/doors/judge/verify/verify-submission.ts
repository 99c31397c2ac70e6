// One labelled submission: judged, and compared with its label.
import { newJobId } from '../../../core/random.ts'
import type { Verdict } from '../submissions/verdict.ts'
import { judgeSubmission, type JudgeContext, type Judged } from '../work/judge-submission.ts'
import type { LoadedProblem } from '../work/test-run.ts'
import { maxScoreOf } from '../work/judge-tests.ts'
import { Interrupted, JudgeFailure } from '../work/box-run.ts'
import type { JudgeWorker } from '../work/judge-worker.ts'
import type { LabelledSubmission } from './labelled-submissions.ts'
import { brokenRule } from './submission-rules.ts'

export type LabelOutcome = 'as labelled' | 'differs' | 'not labelled' | 'not judged'

/** What a difference is about: where to look for its cause. */
export type DifferenceKind = 'system error' | 'compile error' | 'time' | 'points' | 'verdict'

export interface VerifiedProgram {
  submission: LabelledSubmission
  outcome: LabelOutcome
  /** Null: there is none. */
  kind: DifferenceKind | null
  judged: Judged | null
  /** Why it differs, or was not judged. */
  why: string
}

/** Older packages have programs in Python 2 without a line that says so. */
const PYTHON_2 = /^[ \t]*print[ \t]+["'\w%]|\b(?:raw_input|xrange)\(|\.(?:iteritems|has_key)\(/m
const NOT_IN_PYTHON_3: readonly Verdict[] = ['CE', 'RE']

export async function verifySubmission(
  worker: JudgeWorker,
  problem: LoadedProblem,
  submission: LabelledSubmission,
  context: JudgeContext,
): Promise<VerifiedProgram> {
  const { language, files, entry, label, rules } = submission
  const notJudged = (why: string): VerifiedProgram => ({
    submission,
    outcome: 'not judged',
    kind: null,
    judged: null,
    why,
  })
  if (language === null) return notJudged('in a language that is not judged here')
  if (!worker.toolchains.has(language.id)) return notJudged(`${language.name} is not installed`)
  try {
    const asked = { jobId: newJobId(), attemptId: 1, language: language.id, files, entry }
    const judged = await judgeSubmission(worker, problem, asked, context)
    if (label === null && rules.length === 0)
      return { submission, outcome: 'not labelled', kind: null, judged, why: '' }
    const why = differenceOf(judged, submission, problem)
    if (why === '') return { submission, outcome: 'as labelled', kind: null, judged, why }
    if (language.id === 'python3' && NOT_IN_PYTHON_3.includes(judged.verdict) && isPython2(submission))
      return notJudged('in Python 2')
    return { submission, outcome: 'differs', kind: kindOf(judged, submission, why), judged, why }
  } catch (error) {
    if (error instanceof Interrupted) throw error
    const detail = error instanceof JudgeFailure && error.detail !== '' ? ` ${error.detail}` : ''
    const why = `System Error: ${error instanceof Error ? error.message : String(error)}${detail}`
    return { submission, outcome: 'differs', kind: 'system error', judged: null, why }
  }
}

const isPython2 = ({ files }: LabelledSubmission): boolean =>
  files.some(({ bytes }) => PYTHON_2.test(bytes.toString('latin1')))

function differenceOf(judged: Judged, { label, rules }: LabelledSubmission, problem: LoadedProblem): string {
  const { root, tests } = problem.package
  if (label !== null && !label.verdicts.includes(judged.verdict)) return `expected ${label.verdicts.join(' or ')}`
  const broken = rules.map((rule) => brokenRule(rule, judged, tests)).find((why) => why !== '')
  if (broken !== undefined) return broken
  const most = maxScoreOf(root)
  if (label?.isPartial !== true || judged.score === null || most === null) return ''
  return judged.score < most ? '' : `expected less than ${most} points`
}

function kindOf({ verdict }: Judged, { label }: LabelledSubmission, why: string): DifferenceKind {
  if (why.includes('points')) return 'points'
  if (verdict === 'CE') return 'compile error'
  const isSlow = verdict === 'TLE' || (label?.verdicts.every((one) => one === 'TLE') ?? false)
  return isSlow ? 'time' : 'verdict'
}
