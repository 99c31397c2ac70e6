// Changes of a task that is open, apart from its lock and its end.
import type { Effect } from '../../../core/ledger/effects.ts'
import type { TaskRow } from '../tasks/task.ts'
import type { DeskChange } from './change.ts'
import { deskEvent, type EventTask } from './events.ts'

const REPORT = `
  update captcha_task set reported_at = clock_timestamp()
    from json_to_recordset($1) as r (uuid uuid) where captcha_task.uuid = r.uuid`

export const created = (task: TaskRow, creator: string): DeskChange => ({
  audit: { action: 'created', actor: creator, uuid: task.uuid },
  events: [deskEvent.created(task)],
  mirror: [{ type: 'pending', task }],
  outcome: 'created',
})

/** The same work was asked for again: its priority may have risen. */
export const repeated = (task: TaskRow): DeskChange => ({
  mirror: task.status === 'pending' ? [{ type: 'pending', task }] : [],
})

export const overdue = (task: EventTask, sla: 'claim' | 'solve', seconds: number): DeskChange => ({
  events: [deskEvent.overdue(task, sla, seconds)],
})

/** The site refused the solution. */
export const reportedBad = (task: TaskRow, actor: string, reason: string | null): DeskChange => ({
  audit: { action: 'reported_bad', actor, uuid: task.uuid, detail: reason },
  row: { sql: REPORT, row: { uuid: task.uuid } } satisfies Effect,
  outcome: 'reported_bad',
})
