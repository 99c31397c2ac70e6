// One attempt: the work, and recording its outcome in the ledger.
import { setTimeout as sleep } from 'node:timers/promises'
import { isDataError } from '../db/database.ts'
import { isOutage } from '../outage.ts'
import { assertNever } from '../values/outcome.ts'
import type { Acquired } from '../ledger/job.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { HeldRefusal } from '../ledger/refusal.ts'
import type { Interruption } from './interruption.ts'
import { JobFailed, type Done, type Kind, type WaitsForJob } from './kind.ts'
import type { ExecutorMetrics } from './metrics.ts'
import { attemptFields } from '../log/log.ts'
import { retryWaitMs, type RetryPolicy } from '../concurrency/retry.ts'
import type { SampledLog } from '../log/sampled-log.ts'

const SYSTEM_ERROR_PAUSE_MS = 250
const RECORDED = { status: 'ok' }
const REFUSED = { status: 'rejected' }

type AttemptOutcome =
  | { ok: true; done: Done | WaitsForJob }
  | { ok: false; message: string; final: boolean; isOutage?: boolean }

export interface AttemptDeps {
  kind: Kind
  ledger: Ledger
  retry: RetryPolicy
  log: SampledLog
  metrics: ExecutorMetrics
  /** The job was released until another job has ended. */
  onWaiting(job: Acquired, waiting: WaitsForJob): void
}

/** Runs the kind's code. An error that it throws is an outcome of the attempt. */
export async function runAttempt(
  { kind, log }: AttemptDeps,
  job: Acquired,
  interruption: Interruption,
): Promise<AttemptOutcome> {
  if (kind.run === undefined)
    return { ok: false, message: `Nothing here can do a job of kind ${kind.name}.`, final: true }
  try {
    return { ok: true, done: await kind.run(job, interruption) }
  } catch (error) {
    if (error instanceof JobFailed) return { ok: false, message: error.message, final: error.final }
    log.error({ err: error, ...attemptFields(job) }, 'attempt failed')
    // Not the job's fault: the wait does not grow.
    return { ok: false, message: 'Internal error while working on the job.', final: false, isOutage: isOutage(error) }
  }
}

/** Records the outcome, repeatedly while the database is away. True: the feed's entry is no longer needed. */
export async function handIn(
  deps: AttemptDeps,
  job: Acquired,
  outcome: AttemptOutcome,
  interruption: Interruption,
): Promise<boolean> {
  const started = performance.now()
  let recorded = outcome
  while (!interruption.aborted) {
    try {
      const acknowledge = await handInOnce(deps, job, recorded)
      deps.metrics.finalizeLatency.observe(performance.now() - started)
      return acknowledge
    } catch (error) {
      if (recorded.ok && isDataError(error)) {
        deps.log.error({ err: error, ...attemptFields(job) }, 'result cannot be stored')
        recorded = UNSTORABLE
        continue
      }
      deps.metrics.finalizeErrors.inc()
      deps.log.error({ err: error, ...attemptFields(job), reason: 'db_error' }, 'outcome could not be recorded')
      await sleep(SYSTEM_ERROR_PAUSE_MS, undefined, { signal: interruption.signal }).catch(() => {})
    }
  }
  return false // the lease is lost: the next attempt does the work again
}

/** In place of a result that the database cannot store: repeating would not help. */
const UNSTORABLE: AttemptOutcome = { ok: false, message: 'The result cannot be stored.', final: false }

function handInOnce(deps: AttemptDeps, job: Acquired, outcome: AttemptOutcome): Promise<boolean> {
  if (!outcome.ok) return fail(deps, job, outcome)
  return 'waitsFor' in outcome.done ? giveBackUntil(deps, job, outcome.done) : finalize(deps, job, outcome.done)
}

async function finalize(deps: AttemptDeps, job: Acquired, done: Done): Promise<boolean> {
  const { kind, ledger, metrics } = deps
  const { jobId, attemptId, owner } = job
  const answer = await ledger.finalize({ jobId, attemptId, owner, result: done.result, effects: done.effects ?? [] })
  metrics.finalizes.inc(answer.ok ? RECORDED : REFUSED)
  if (answer.ok) kind.onRecorded?.(done.result)
  return answer.ok || explainRefusal(deps, job, answer.code)
}

async function giveBackUntil(deps: AttemptDeps, job: Acquired, waiting: WaitsForJob): Promise<boolean> {
  const { jobId, attemptId, owner } = job
  const { waitsFor, lookAgainMs: delayMs, effects = [] } = waiting
  const answer = await deps.ledger.release({
    jobId,
    attemptId,
    owner,
    delayMs: Math.max(1, Math.round(delayMs)),
    note: `waits for job ${waitsFor}`,
    effects,
  })
  if (!answer.ok) return explainRefusal(deps, job, answer.code)
  deps.onWaiting(job, waiting)
  return true // it is announced again when it is due
}

async function fail(deps: AttemptDeps, job: Acquired, outcome: AttemptOutcome & { ok: false }): Promise<boolean> {
  const { kind, ledger, metrics, retry } = deps
  const answer = await ledger.fail({
    jobId: job.jobId,
    attemptId: job.attemptId,
    owner: job.owner,
    error: outcome.message,
    retryMs: outcome.final ? null : retryWaitMs(outcome.isOutage === true ? 1 : job.attemptId, retry),
    effects: kind.effectsOfDeath?.(job, outcome.message) ?? [],
  })
  if (!answer.ok) return explainRefusal(deps, job, answer.code)
  metrics.failures.inc({ kind: kind.name, outcome: answer.dead ? 'dead' : 'retry' })
  if (answer.dead) kind.onRecorded?.(null)
  return true // dead, or announced again when it is due
}

/** Logs the refusal with the state of the job: no result is dropped without a trace (docs/judge.md, C5). */
async function explainRefusal(deps: AttemptDeps, job: Acquired, code: HeldRefusal): Promise<boolean> {
  const { ledger, log, metrics } = deps
  const seen = await ledger.get(job.jobId).catch(() => null)
  const state = {
    db_attempt_id: seen?.attemptId ?? null,
    db_status: seen?.state ?? null,
    db_state: seen?.state ?? null,
    db_lease_owner: seen?.leaseOwner ?? null,
    db_lease_until: seen?.leaseUntil?.toISOString() ?? null,
  }
  log.warn({ ...attemptFields(job), reason: code, ...state }, 'result refused')
  metrics.finalizeRejections.inc({ reason: code })
  if (code === 'stale_attempt') metrics.stale.inc()
  return isSettled(code)
}

/** Whether the feed's entry is no longer needed: the job has ended, or a newer attempt has an entry or a lease of its own. */
function isSettled(code: HeldRefusal): boolean {
  switch (code) {
    case 'unknown_job':
    case 'stale_attempt':
    case 'already_finished':
      return true
    case 'not_in_expected_state':
    case 'lease_lost_or_owner_mismatch':
      return false
    default:
      return assertNever(code)
  }
}
