// The kind `judge`: a submission judged in this process. The verdict, the row of the list and the last word to those who
// watch commit together. What says nothing about the submission (a broken sandbox, a busy machine) fails the attempt; when
// there is none left, the verdict is SE, with the reason.
import type { Logger } from 'pino'
import type { Events } from '../../../core/events/events.ts'
import { JobFailed, type Done, type Kind, type RunContext } from '../../../core/executor/kind.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import type { Acquired } from '../../../core/ledger/job.ts'
import { newSecret } from '../../../core/random.ts'
import { StartError } from '../../../core/start-error.ts'
import { judgeSubmission, type Judged } from './judge-submission.ts'
import { PackageError } from '../package/package.ts'
import { payloadFrom, type JudgePayload } from '../submissions/payload.ts'
import { finishedEffect, openProgress, type JudgeProgress, type ProgressDeps } from '../submissions/progress.ts'
import { briefLine, resultOf, type JudgeResult } from '../submissions/result.ts'
import { SandboxError } from '../sandbox/sandbox-error.ts'
import { finished, submitted } from '../submissions/submission-store.ts'
import { fileNameOfClass } from '../programs/main-class.ts'
import type { Problems } from './loaded-problems.ts'
import { JudgeFailure } from './box-run.ts'
import type { JudgeWorker } from './judge-worker.ts'
import { JUDGE_KIND } from '../settings.ts'

export interface JudgeKindDeps extends Omit<ProgressDeps, 'onError'> {
  slots: number
  /** Opened by `prepare`: a process that only serves never does. */
  worker(): Promise<{ worker: JudgeWorker; problems: Problems }>
  log: Logger
}

const DEAD: JudgeResult = { verdict: 'SE', time_ms: 0, mem_kb: 0, tests: [] }

export const judgeKind = (deps: JudgeKindDeps): Kind => ({
  name: JUDGE_KIND,
  slots: deps.slots,
  async prepare() {
    await deps.worker()
  },
  run: (job, context) => runJudge(deps, job, context),
  effectsOfDeath: ({ jobId }, reason) => effectsOfDeath(deps.events, jobId, reason),
  effectsOfReplay: (old, newJobId) => {
    const payload = payloadFrom(old.payload)
    if (payload === null || old.accountId === null) return []
    const { problem_id: problemId, language } = payload
    return [submitted({ jobId: newJobId, accountId: old.accountId, problemId, language })]
  },
})

export const effectsOfDeath = (events: Events, jobId: string, reason: string): Effect[] => [
  finished(jobId, DEAD),
  finishedEffect(events, jobId, { attemptId: null, total: null, result: DEAD, tests: [], reason }),
]

async function runJudge(deps: JudgeKindDeps, job: Acquired, context: RunContext): Promise<Done> {
  const { jobId, attemptId } = job
  const payload = payloadFrom(job.payload)
  if (payload === null) throw new JobFailed('The payload is not a submission.', { final: true })
  const traceId = job.traceId ?? newSecret().slice(0, 32)
  const log = deps.log.child({ job_id: jobId, attempt_id: attemptId, trace_id: traceId })
  const progress = openProgress({ ...deps, onError: (err) => log.warn({ err }, 'progress was not told') }, job)
  const started = performance.now()

  const { judged, isScoring } = await judge(deps, { job, payload, context, log, progress })
  const result = resultOf(judged, isScoring)
  const { worker } = await deps.worker()
  worker.metrics.verdicts.inc({ verdict: result.verdict })
  log.info(
    { verdict: result.verdict, language: payload.language, ms: Math.round(performance.now() - started) },
    'judged',
  )
  return { result, effects: [finished(jobId, result), await progress.finished(result)] }
}

interface JudgingAttempt {
  job: Acquired
  payload: JudgePayload
  context: RunContext
  log: Logger
  progress: JudgeProgress
}

async function judge(
  deps: JudgeKindDeps,
  { job, payload, context, log, progress }: JudgingAttempt,
): Promise<{ judged: Judged; isScoring: boolean }> {
  const { jobId, attemptId } = job
  const { worker, problems } = await deps.worker()
  try {
    const problem = await problems.get(payload.package)
    const file = sourceFileOf(worker, payload)
    const judged = await judgeSubmission(
      worker,
      problem,
      { jobId, attemptId, language: payload.language, files: [file], entry: file.name },
      {
        signal: context.signal,
        log,
        onCompiled: (tests) => progress.running(tests),
        onTest: (tested) => progress.test(briefLine(tested)),
      },
    )
    return { judged, isScoring: problem.package.isScoring }
  } catch (error) {
    await progress.discard()
    if (error instanceof JudgeFailure) throw new JobFailed(error.message, { final: error.final })
    if (error instanceof SandboxError || error instanceof StartError) throw new JobFailed(error.message)
    if (error instanceof PackageError) throw new JobFailed(error.message, { final: true })
    throw error
  }
}

/** A submission is a text without a name; Java wants the name of its public class. */
export function sourceFileOf({ toolchains }: JudgeWorker, { language, code }: Pick<JudgePayload, 'language' | 'code'>) {
  const bytes = Buffer.from(code)
  const source = toolchains.get(language)?.language.source ?? 'main'
  return { name: source.endsWith('.java') ? fileNameOfClass(bytes) : source, bytes }
}
