// The ends of a task: an operator solves it or marks it unsolvable, nobody claims it in time, or it is cancelled. A replay of its
// job opens it again.
import { hideFromPlanner } from '../../../core/db/sql.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import { secondsBetween } from '../metrics.ts'
import type { NewSession } from '../sessions/session-store.ts'
import type { TaskRow } from '../tasks/task.ts'
import type { DeskChange } from './change.ts'
import type { TaskCallback } from '../solutions/callbacks.ts'
import { deskEvent, type DeskEvent, type EventTask } from './events.ts'

// Cookies captured from the task's page are deleted with its end. The condition is hidden from the planner, which would otherwise
// walk all open tasks for each one that ends.
const END = `
  with ended as (
    update captcha_task
       set status = r.status, assigned_to = coalesce(r.operator, assigned_to), solver_result = r.solver_result,
           solver_expires_at = r.expires_at, last_error = coalesce(r.error, last_error), locked_until = null,
           unclaimed_since = null, lapsed_from = null, overdue_at = null, ended_at = clock_timestamp(),
           updated_at = clock_timestamp()
      from json_to_recordset($1) as r (job_id uuid, status text, operator text, solver_result text,
           expires_at timestamptz, error text)
     where captcha_task.job_id = r.job_id and ${hideFromPlanner('captcha_task.ended_at is null')}
    returning captcha_task.uuid
  )
  delete from captcha_cookie using ended where captcha_cookie.uuid = ended.uuid`

const REPLAY = `
  update captcha_task
     set job_id = r.new_job_id, status = 'pending', assigned_to = null, unclaimed_since = clock_timestamp(),
         locked_until = null, ended_at = null, dup_key = null, overdue_at = null, cleaned_at = null, solver_result = null,
         updated_at = clock_timestamp()
    from json_to_recordset($1) as r (job_id uuid, new_job_id uuid)
   where captcha_task.job_id = r.job_id`

interface EndedRow {
  status: 'solved' | 'unsolvable' | 'expired'
  operator?: string
  solver_result?: string
  expires_at?: Date | null
  error?: string
}

const end = (jobId: string, row: EndedRow): Effect => ({ sql: END, row: { job_id: jobId, ...row } })

/** Its row, or what the job's payload holds of it. */
export type JobTask = EventTask & Pick<TaskRow, 'job_id' | 'callback_url'>

const callbackOf = (task: JobTask, event: DeskEvent): TaskCallback | null =>
  task.callback_url === null ? null : { jobId: task.job_id, uuid: task.uuid, url: task.callback_url, event }

export interface SolvedWith {
  operator: string
  /** Sealed. */
  solverResult: string
  expiresAt: Date | null
  session: NewSession | null
}

export const solved = (task: TaskRow, { operator, solverResult, expiresAt, session }: SolvedWith): DeskChange => ({
  audit: { action: 'solved', actor: operator, uuid: task.uuid, operator },
  row: end(task.job_id, { status: 'solved', operator, solver_result: solverResult, expires_at: expiresAt }),
  ...(session === null ? {} : { session }),
  callback: callbackOf(task, deskEvent.solved(task, session?.ttlSec ?? null)),
  events: [
    deskEvent.solved(task, session?.ttlSec ?? null),
    ...(session === null ? [] : [deskEvent.sessionCached({ ...session, now: task.now }, session.ttlSec)]),
  ],
  mirror: [{ type: 'removed', task }, ...(session === null ? [] : [{ type: 'session' as const, session }])],
  outcome: 'solved',
  heldSec: secondsBetween(task.claimed_at, task.now),
})

export const unsolvable = (task: TaskRow, operator: string, reason: string): DeskChange => ({
  audit: { action: 'unsolvable', actor: operator, uuid: task.uuid, operator, detail: reason },
  row: end(task.job_id, { status: 'unsolvable', operator, error: reason }),
  events: [deskEvent.unsolvable(task, reason)],
  callback: callbackOf(task, deskEvent.unsolvable(task, reason)),
  mirror: [{ type: 'removed', task }],
  outcome: 'unsolvable',
})

export const expired = (task: TaskRow): DeskChange => ({
  audit: { action: 'expired', actor: 'reeve', uuid: task.uuid },
  row: end(task.job_id, { status: 'expired' }),
  events: [deskEvent.expired(task)],
  callback: callbackOf(task, deskEvent.expired(task)),
  mirror: [{ type: 'removed', task }],
  outcome: 'expired',
})

/** Its job was cancelled or buried. */
export const cancelled = (task: JobTask, actor: string, reason: string): DeskChange => ({
  audit: { action: 'cancelled', actor, uuid: task.uuid, detail: reason },
  row: end(task.job_id, { status: 'unsolvable', error: reason }),
  events: [deskEvent.unsolvable(task, reason)],
  callback: callbackOf(task, deskEvent.unsolvable(task, reason)),
  mirror: [{ type: 'removed', task }],
})

/** An admin replayed its job: the task is open again, under the new job. */
export const replayed = (task: JobTask, newJobId: string): DeskChange => ({
  audit: { action: 'reopened', actor: 'admin', uuid: task.uuid },
  row: { sql: REPLAY, row: { job_id: task.job_id, new_job_id: newJobId } },
  events: [deskEvent.released(task, null, 'reopened')],
})
