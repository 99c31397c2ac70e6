// What happens to the lock of a task (docs/desk.md, section 4).
//
//   pending, failed ──claimed──► in_progress ──solving──► solving ──► (end-changes.ts)
//         ▲                        │  ▲ └──renewed
//         └──released, lapsed──────┘  └──stolen by an admin: released, then claimed
import { secondsBetween } from '../metrics.ts'
import type { TaskRow } from '../tasks/task.ts'
import type { DeskChange } from './change.ts'
import { deskEvent, type EventTask } from './events.ts'

// Effects run after the ledger's own statement, so that the desk's lock never ends before the lease.
const CLAIM = `
  update captcha_task
     set status = 'in_progress', assigned_to = r.operator, claimed_at = clock_timestamp(),
         locked_until = clock_timestamp() + r.lock_sec * interval '1 second', unclaimed_since = null, lapsed_from = null,
         overdue_at = null, updated_at = clock_timestamp()
    from json_to_recordset($1) as r (job_id uuid, operator text, lock_sec integer)
   where captcha_task.job_id = r.job_id`

const RENEW = `
  update captcha_task
     set locked_until = clock_timestamp() + r.lock_sec * interval '1 second', updated_at = clock_timestamp()
    from json_to_recordset($1) as r (job_id uuid, lock_sec integer)
   where captcha_task.job_id = r.job_id`

const RELEASE = `
  update captcha_task
     set status = r.status, assigned_to = null, locked_until = null, unclaimed_since = clock_timestamp(),
         lapsed_from = r.lost_by, last_error = coalesce(r.error, last_error), overdue_at = null,
         updated_at = clock_timestamp()
    from json_to_recordset($1) as r (job_id uuid, status text, error text, lost_by text)
   where captcha_task.job_id = r.job_id`

const LAPSE = `
  update captcha_task
     set status = 'pending', lapsed_from = assigned_to, assigned_to = null, unclaimed_since = locked_until,
         locked_until = null, overdue_at = null, updated_at = clock_timestamp()
    from json_to_recordset($1) as r (uuid uuid) where captcha_task.uuid = r.uuid`

const START_SOLVING = `
  update captcha_task set status = 'solving', updated_at = clock_timestamp()
    from json_to_recordset($1) as r (uuid uuid) where captcha_task.uuid = r.uuid`

const REOPEN_FAILED = `
  update captcha_task set status = 'pending', unclaimed_since = clock_timestamp(), updated_at = clock_timestamp()
    from json_to_recordset($1) as r (uuid uuid) where captcha_task.uuid = r.uuid`

export interface LockRequest {
  operator: string
  /** Who gives it to them, where that is somebody else. */
  actor?: string
  lockSec: number
}

export const claimed = (task: TaskRow, { operator, actor = operator, lockSec }: LockRequest): DeskChange => ({
  audit: { action: 'claimed', actor, uuid: task.uuid, operator },
  row: { sql: CLAIM, row: { job_id: task.job_id, operator, lock_sec: lockSec } },
  events: [deskEvent.assigned(task, operator)],
  mirror: [{ type: 'locked', task, operator, lockSec }],
  outcome: 'claimed',
  waitedSec: secondsBetween(task.unclaimed_since, task.now),
})

export const renewed = (task: TaskRow, { operator, actor = operator, lockSec }: LockRequest): DeskChange => ({
  audit: { action: 'renewed', actor, uuid: task.uuid },
  row: { sql: RENEW, row: { job_id: task.job_id, lock_sec: lockSec } },
  mirror: [{ type: 'locked', task, operator, lockSec }],
})

export interface LockRelease {
  actor: string
  how: 'released' | 'stolen' | 'failed'
  error?: string | null
}

/** The holder gives the lock back, gives up on the task (`failed`), or an admin takes the lock away (`stolen`). */
export const released = (task: TaskRow, holder: string, { actor, how, error = null }: LockRelease): DeskChange => ({
  audit: { action: how, actor, uuid: task.uuid, operator: holder, detail: error },
  row: {
    sql: RELEASE,
    row: {
      job_id: task.job_id,
      status: how === 'failed' ? 'failed' : 'pending',
      error,
      lost_by: how === 'stolen' ? holder : null,
    },
  },
  events: [how === 'failed' ? deskEvent.failed(task, holder, error) : deskEvent.released(task, holder, how)],
  mirror: [{ type: how === 'failed' ? 'removed' : 'pending', task }],
  outcome: how,
})

export type LapsedTask = EventTask & Pick<TaskRow, 'priority' | 'created_at'> & { assigned_to: string }

/** The time of the lock is up. */
export const lapsed = (task: LapsedTask): DeskChange => ({
  audit: { action: 'lapsed', actor: task.assigned_to, uuid: task.uuid },
  row: { sql: LAPSE, row: { uuid: task.uuid } },
  events: [deskEvent.released(task, task.assigned_to, 'lapsed')],
  mirror: [{ type: 'pending', task }],
  outcome: 'lapsed',
})

export const solving = (task: TaskRow, actor: string): DeskChange => ({
  audit: { action: 'solving', actor, uuid: task.uuid },
  row: { sql: START_SOLVING, row: { uuid: task.uuid } },
  events: [deskEvent.solving(task, actor)],
})

/** A failed task is offered to all operators again. */
export const reopened = (task: TaskRow, actor: string): DeskChange => ({
  audit: { action: 'reopened', actor, uuid: task.uuid },
  row: { sql: REOPEN_FAILED, row: { uuid: task.uuid } },
  events: [deskEvent.released(task, actor, 'reopened')],
  mirror: [{ type: 'pending', task }],
})
