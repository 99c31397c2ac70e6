// The kind of job that a task is. Its hands are people: nothing runs it here. An admin may cancel or replay the job as any
// other, and the task goes along.
import type { Effect } from '../../../core/ledger/effects.ts'
import type { Kind } from '../../../core/executor/kind.ts'
import { parseJobId, type Job } from '../../../core/ledger/job.ts'
import { auditEffect } from './audit.ts'
import { eventEffects, type Desk } from '../desk.ts'
import { endEffect } from '../solutions/ending.ts'
import { told, type DeskEvent } from './events.ts'
import { mirrorEffects } from '../redis-mirror/mirror-news.ts'
import type { TaskRow } from '../tasks/task.ts'

const REOPEN = `
  update captcha_task
     set job_id = r.new_job_id, status = 'pending', assigned_to = null, unclaimed_since = clock_timestamp(),
         locked_until = null, ended_at = null, dup_key = null, overdue_at = null, cleaned_at = null, solver_result = null,
         updated_at = clock_timestamp()
    from json_to_recordset($1) as r (job_id uuid, new_job_id uuid)
   where captcha_task.job_id = r.job_id`

export const DESK_KIND = 'desk'

/** All that the ledger keeps of a task: nothing that an admin who looks at jobs should not see. */
export interface DeskPayload {
  task_id: string
  uuid: string
  domain: string
}

export const deskKind = (desk: Pick<Desk, 'events' | 'mirror' | 'outbox'>): Kind => ({
  name: DESK_KIND,
  effectsOfDeath(job, reason) {
    const task = taskOf(job)
    if (task === null) return []
    return [
      auditEffect({ action: 'cancelled', actor: 'admin', uuid: task.uuid, detail: reason }),
      endEffect(job.jobId, { status: 'unsolvable', error: reason }),
      ...tellEffects(desk, told.unsolvable(task, reason)),
    ]
  },
  effectsOfReplay(old, newJobId) {
    const task = taskOf(old)
    if (task === null) return []
    return [
      auditEffect({ action: 'reopened', actor: 'admin', uuid: task.uuid }),
      { sql: REOPEN, row: { job_id: old.jobId, new_job_id: newJobId } },
      ...tellEffects(desk, told.released(task, null, 'reopened')),
    ]
  },
})

/** Whoever commits this, nobody is there afterwards to tell Redis. */
const tellEffects = (desk: Pick<Desk, 'events' | 'mirror' | 'outbox'>, event: DeskEvent): Effect[] => [
  ...eventEffects(desk, [event]),
  ...mirrorEffects(desk, event),
]

/** Null: a job of this kind that somebody submitted without a task. */
function taskOf({ payload, accountId }: Pick<Job, 'payload' | 'accountId'>): Told | null {
  if (typeof payload !== 'object' || payload === null || accountId === null) return null
  if (!('task_id' in payload && 'uuid' in payload && 'domain' in payload)) return null
  const uuid = parseJobId(String(payload.uuid))
  const { task_id: id, domain } = payload
  return uuid === null ? null : { id: String(id), uuid, domain: String(domain), account_id: String(accountId) }
}

type Told = Pick<TaskRow, 'id' | 'uuid' | 'domain' | 'account_id'>
