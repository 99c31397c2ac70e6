// The kind `judge`: a submission judged by the judge thread of this process. The verdict, the row of the list and the last
// event commit together. A failure that says nothing about the submission (a broken sandbox, a busy machine) fails the
// attempt; after the last one the verdict is SE, with the reason.
import { releaseSubmissions } from '../submissions/retention.ts'
import type { Logger } from 'pino'
import type { Events } from '../../../core/events/events.ts'
import { JobFailed, type Done, type Kind, type RunContext } from '../../../core/executor/kind.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import type { Acquired } from '../../../core/ledger/job.ts'
import { newSecret } from '../../../core/random.ts'
import { StartError } from '../../../core/start-error.ts'
import { payloadFrom } from '../submissions/payload.ts'
import { finishedEffect, openProgress, type ProgressDeps } from '../submissions/progress.ts'
import { resultFrom, type JudgeResult } from '../submissions/result.ts'
import { submissionContexts } from '../submissions/context.ts'
import { finished, submitted } from '../submissions/submission-store.ts'
import type { JudgeMetrics } from '../metrics.ts'
import { JudgeFailure } from './box-run.ts'
import type { JudgeClient } from './judge-client.ts'
import { JUDGE_KIND } from '../settings.ts'

export interface JudgeKindDeps extends Omit<ProgressDeps, 'onError'> {
  slots: number
  submissionsKeptDays: number
  /** Opened by `prepare`: a process that only serves never does. */
  judge: JudgeClient
  verdicts: JudgeMetrics['verdicts']
  log: Logger
}

const DEAD: JudgeResult = { verdict: 'SE', time_ms: 0, mem_kb: 0, tests: [] }

export const judgeKind = (deps: JudgeKindDeps): Kind => ({
  name: JUDGE_KIND,
  slots: deps.slots,
  async prepare() {
    await deps.judge.open()
  },
  releaseOld: releaseSubmissions(deps.submissionsKeptDays),
  run: (job, context) => runJudge(deps, job, context),
  contextOf: submissionContexts(deps.events),
  effectsOfDeath: ({ jobId }, reason) => effectsOfDeath(deps.events, jobId, reason),
  onRecorded: (result) => deps.verdicts.inc({ verdict: resultFrom(result)?.verdict ?? 'SE' }),
  effectsOfReplay: (old, newJobId) => {
    const payload = payloadFrom(old.payload)
    if (payload === null || payload.input !== undefined || old.accountId === null) return []
    const { problem_id: problemId, language } = payload
    return [submitted({ jobId: newJobId, accountId: old.accountId, problemId, language })]
  },
})

export const effectsOfDeath = (events: Events, jobId: string, reason: string): Effect[] => [
  finished(jobId, DEAD),
  finishedEffect(events, jobId, { attemptId: null, total: null, result: DEAD, tests: [], reason }),
]

async function runJudge(deps: JudgeKindDeps, job: Acquired, context: RunContext): Promise<Done> {
  const { judge, database, events, outbox } = deps
  const { jobId, attemptId } = job
  const payload = payloadFrom(job.payload)
  if (payload === null) throw new JobFailed('The payload is not a submission.', { final: true })
  const traceId = job.traceId ?? newSecret().slice(0, 32)
  const log = deps.log.child({ job_id: jobId, attempt_id: attemptId, trace_id: traceId })
  const onError = (err: unknown) => log.warn({ err }, 'progress could not be published')
  const progress = openProgress({ database, events, outbox, onError }, job)
  const started = performance.now()
  try {
    const result = await judge.judge(
      { jobId, attemptId, traceId, payload },
      { signal: context.signal, onRunning: progress.running, onTest: progress.test },
    )
    const { verdict } = result
    log.info({ verdict, language: payload.language, ms: Math.round(performance.now() - started) }, 'judged')
    return { result, effects: [finished(jobId, result), await progress.finished(result)] }
  } catch (error) {
    await progress.discard()
    if (error instanceof JudgeFailure) throw new JobFailed(error.message, { final: error.final })
    if (error instanceof StartError) throw new JobFailed(error.message)
    throw error
  }
}
