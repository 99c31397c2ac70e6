// Problems that another door of this server solves: a person at the desk (`captcha`), the judge's sandbox (`code`). The
// work is a job of that door. The solve job holds no slot while it waits, which may take hours: it is released, and runs
// again when the other job has ended. The release stores which job it waits for.
import type { Database } from '../../../core/db/database.ts'
import type { WaitsForJob } from '../../../core/executor/kind.ts'
import { isEnded } from '../../../core/ledger/ended.ts'
import type { Acquired } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { Capability, Capabilities } from '../../../core/capabilities.ts'
import type { Constraints } from '../solver/constraints.ts'
import type { JsonObject } from '../signing/verify.ts'
import { deadlinePassed, solved, UnsolvableProblem, type CallbackOutcome } from './solution.ts'
import { traceOfJob } from '../../../core/traces/context.ts'

const FIND_WAIT = `
  select date_part('epoch', clock_timestamp()) * 1000 as now_ms,
         (select waits_for from solve_requests where job_id = $1) as waits_for`

const REMEMBER = `
  update solve_requests set waits_for = r.waits_for
    from json_to_recordset($1) as r (job_id uuid, waits_for uuid) where solve_requests.job_id = r.job_id`

/** Problem types that other doors solve, if they are open. */
export const ELSEWHERE: readonly string[] = ['captcha', 'code']

// The longer a job has waited, the less often it is checked: the end of the other job wakes it anyway.
const LOOK_AGAIN_MS = { min: 5000, max: 600_000 }

export interface ElsewhereDeps {
  database: Database
  ledger: Ledger
  capabilities: Capabilities
  /** Time limit of a problem that sets none. */
  waitMsMax: number
}

export interface OtherDoorProblem {
  type: string
  problem: JsonObject
  constraints: Constraints
}

export async function solveElsewhere(deps: ElsewhereDeps, job: Acquired, asked: OtherDoorProblem): Promise<CallbackOutcome | WaitsForJob> {
  const capability = deps.capabilities.find(asked.type)
  const wait = await waitOf(deps, job.jobId, asked.constraints)
  if (wait.leftMs <= 0) {
    if (wait.waitsFor !== null) await capability?.withdraw(wait.waitsFor, wait.refusal.message)
    throw wait.refusal
  }
  if (wait.waitsFor === null) return begin(capability, job, asked, wait)

  const other = await deps.ledger.get(wait.waitsFor)
  // Another process, which has that door open, began the job: leave it to that process.
  if (capability === null || !isEnded(other)) return waitFor(wait.waitsFor, wait)
  if (other === null) throw new Error(`The job ${wait.waitsFor}, which solves a ${asked.type} problem, is gone.`)
  const outcome = await capability.outcomeOf(other)
  return outcome.ok
    ? solved(asked.type, outcome.answer, wait.waitedMs, outcome.metadata)
    : { status: 'failed', error_code: outcome.code, error_message: outcome.message }
}

async function begin(capability: Capability | null, job: Acquired, { type, problem }: OtherDoorProblem, wait: Wait): Promise<WaitsForJob> {
  if (capability === null) throw new UnsolvableProblem('SOLVER_UNAVAILABLE', `This server does not solve ${type} problems: the door that does is not open.`)
  const { jobId } = job
  const begun = await capability.begin({ key: jobId, askedBy: jobId, body: problem, trace: traceOfJob(job), wantedUntil: wait.until })
  if (!begun.ok) throw new UnsolvableProblem(begun.code, begun.message)
  const remember = { sql: REMEMBER, row: { job_id: jobId, waits_for: begun.jobId } }
  return { ...waitFor(begun.jobId, wait), effects: [remember] }
}

function waitFor(waitsFor: string, { waitedMs, leftMs }: Wait): WaitsForJob {
  const patienceMs = Math.min(LOOK_AGAIN_MS.max, Math.max(LOOK_AGAIN_MS.min, waitedMs / 2))
  return { waitsFor, lookAgainMs: Math.min(patienceMs, leftMs) }
}

interface Wait {
  /** Null: no job was begun, or the process died before it stored which. */
  waitsFor: string | null
  waitedMs: number
  leftMs: number
  until: Date
  /** The error when no time is left. */
  refusal: UnsolvableProblem
}

/** Time counts from the acceptance of the challenge, by the database's clock. */
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
