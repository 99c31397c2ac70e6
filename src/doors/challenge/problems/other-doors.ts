// Problems that another door of this server solves: a person at the desk (`captcha`), the judge's sandbox (`code`). The
// work is a job of that door. Ours does not hold a slot while it waits, which may be for hours: it is given back, and woken
// when the other one has ended. Which job it waits for is written down with that, so that whoever comes next knows.
import type { Database } from '../../../core/db/database.ts'
import type { Waiting } from '../../../core/executor/kind.ts'
import { isEnded } from '../../../core/ledger/ended.ts'
import type { Acquired } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { Offer, Capabilities } from '../../../core/capabilities.ts'
import type { Constraints } from '../solver/constraints.ts'
import type { Fields } from '../signing/verify.ts'
import { deadlinePassed, UnsolvableProblem, type CallbackOutcome } from './solution.ts'

const FIND_WAIT = `
  select date_part('epoch', clock_timestamp()) * 1000 as now_ms,
         (select waits_for from solve_requests where job_id = $1) as waits_for`

const REMEMBER = `
  update solve_requests set waits_for = r.waits_for
    from json_to_recordset($1) as r (job_id uuid, waits_for uuid) where solve_requests.job_id = r.job_id`

/** What other doors may solve, if they are open. */
export const ELSEWHERE: readonly string[] = ['captcha', 'code']

// Who waits long is looked at seldom: the other job's end wakes it anyway.
const LOOK_AGAIN_MS = { min: 5000, max: 600_000 }

export interface ElsewhereDeps {
  database: Database
  ledger: Ledger
  offers: Capabilities
  /** For a problem with no limit of its own. */
  waitMsMax: number
}

export interface OtherDoorProblem {
  type: string
  problem: Fields
  constraints: Constraints
}

export async function solveElsewhere(deps: ElsewhereDeps, job: Acquired, asked: OtherDoorProblem): Promise<CallbackOutcome | Waiting> {
  const offer = deps.offers.find(asked.type)
  const wait = await waitOf(deps, job.jobId, asked.constraints)
  if (wait.leftMs <= 0) {
    if (wait.waitsFor !== null) await offer?.withdraw(wait.waitsFor, wait.refusal.message)
    throw wait.refusal
  }
  if (wait.waitsFor === null) return begin(offer, job, asked, wait)

  const other = await deps.ledger.get(wait.waitsFor)
  // Begun by a process that has the door, and looked at by one that has not: the other may come.
  if (offer === null || !isEnded(other)) return waitFor(wait.waitsFor, wait)
  if (other === null) throw new Error(`The job ${wait.waitsFor}, which solves a ${asked.type} problem, is gone.`)
  const outcome = await offer.outcomeOf(other)
  return outcome.ok
    ? { status: 'success', answer: outcome.answer, metadata: { ...outcome.metadata, solver: asked.type } }
    : { status: 'failed', error_code: outcome.code, error_message: outcome.message }
}

async function begin(offer: Offer | null, job: Acquired, { type, problem }: OtherDoorProblem, wait: Wait): Promise<Waiting> {
  if (offer === null) throw new UnsolvableProblem('SOLVER_UNAVAILABLE', `This server has nobody who solves ${type} problems.`)
  const { jobId, traceId } = job
  const begun = await offer.begin({ key: jobId, body: problem, traceId, wantedUntil: wait.until })
  if (!begun.ok) throw new UnsolvableProblem(begun.code, begun.message)
  const remember = { sql: REMEMBER, row: { job_id: jobId, waits_for: begun.jobId } }
  return { ...waitFor(begun.jobId, wait), effects: [remember] }
}

function waitFor(waitsFor: string, { waitedMs, leftMs }: Wait): Waiting {
  const patienceMs = Math.min(LOOK_AGAIN_MS.max, Math.max(LOOK_AGAIN_MS.min, waitedMs / 2))
  return { waitsFor, lookAgainMs: Math.min(patienceMs, leftMs) }
}

interface Wait {
  /** Null: nothing was begun yet, or whoever did so died before it could be written down. */
  waitsFor: string | null
  waitedMs: number
  leftMs: number
  until: Date
  /** What is said when there is no time left. */
  refusal: UnsolvableProblem
}

/** The time counts from the moment the challenge was accepted, by the database's clock. */
async function waitOf(
  { database, ledger, waitMsMax }: ElsewhereDeps,
  jobId: string,
  { timeout_ms: timeoutMs = waitMsMax, deadline_ts: deadlineTs = Infinity }: Constraints,
): Promise<Wait> {
  const acceptedMs = (await ledger.get(jobId))?.submittedAt.getTime() ?? 0
  const [row] = await database.query<{ now_ms: number; waits_for: string | null }>(FIND_WAIT, [jobId])
  const { now_ms: nowMs = Infinity, waits_for: waitsFor = null } = row ?? {}
  const allowedMs = Math.min(timeoutMs, waitMsMax)
  const isDeadline = deadlineTs * 1000 <= acceptedMs + allowedMs
  const untilMs = isDeadline ? deadlineTs * 1000 : acceptedMs + allowedMs
  return {
    waitsFor,
    waitedMs: nowMs - acceptedMs,
    leftMs: untilMs - nowMs,
    until: new Date(untilMs),
    refusal: isDeadline ? deadlinePassed() : new UnsolvableProblem('TIMEOUT', `Not solved within ${allowedMs} ms.`),
  }
}
