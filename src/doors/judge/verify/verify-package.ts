// A package judged by itself: each of its labelled submissions gets the verdict of its label, or the package, its time
// limit or its label is wrong.
import type { Logger } from 'pino'
import type { Language } from '../languages/language.ts'
import type { TestResult } from '../work/run-test.ts'
import type { LoadedProblem } from '../work/test-run.ts'
import type { JudgeWorker } from '../work/judge-worker.ts'
import { findSubmissions, type LabelledSubmission } from './labelled-submissions.ts'
import { withMeasuredLimit, withMeasuringLimit } from './measure-time-limit.ts'
import { verifySubmission, type VerifiedProgram } from './verify-submission.ts'

export interface VerifyContext {
  signal: AbortSignal
  log: Logger
  isWanted?: (submission: LabelledSubmission) => boolean
  /** So many at a time. */
  parallel?: number
  /** Where the package names no time limit: measure its accepted submissions. */
  measuresTime?: boolean
  onTimeLimit?: (timeMs: number) => void
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
  const verify = (one: LoadedProblem, submissions: readonly LabelledSubmission[]) =>
    inParallel(submissions, context.parallel ?? 1, async (submission) => {
      context.onBegin?.(submission)
      const verified = await verifySubmission(worker, one, submission, context)
      context.onEnd?.(verified)
      return verified
    })
  const wanted = (await findSubmissions(problem.package.folder, languages)).filter(
    (submission) => context.isWanted?.(submission) ?? true,
  )
  const measuring = context.measuresTime === true ? await withMeasuringLimit(problem) : null
  if (measuring === null) return verify(problem, wanted)
  const isAccepted = ({ label }: LabelledSubmission) => label?.verdicts.join() === 'AC' && !label.isPartial
  const accepted = await verify(measuring, wanted.filter(isAccepted))
  const measured = await withMeasuredLimit(problem, accepted)
  context.onTimeLimit?.(measured.package.limits.timeMs)
  return [
    ...accepted,
    ...(await verify(
      measured,
      wanted.filter((one) => !isAccepted(one)),
    )),
  ]
}

/** Results in the order of the items. */
async function inParallel<Item, Result>(
  items: readonly Item[],
  count: number,
  run: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const left = items.entries()
  const work = async () => {
    for (const [index, item] of left) results[index] = await run(item)
  }
  await Promise.all(Array.from({ length: count }, work))
  return results
}
