// The kind of job that a task is. Its hands are people: nothing runs it here. An admin may cancel or replay the job as any
// other, and the task goes along.
import type { Kind } from '../../core/hands/kind.ts'
import { parseJobId } from '../../core/ledger/job.ts'
import { auditEffect } from './audit.ts'
import { endEffect } from './ending.ts'

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
  uuid: string
  domain: string
}

export const deskKind: Kind = {
  name: DESK_KIND,
  effectsOfDeath: (job, reason) => [
    auditEffect({ action: 'cancelled', actor: 'admin', ...uuidOf(job.payload), detail: reason }),
    endEffect(job.jobId, { status: 'unsolvable', error: reason }),
  ],
  effectsOfReplay: (old, newJobId) => [
    auditEffect({ action: 'reopened', actor: 'admin', ...uuidOf(old.payload) }),
    { sql: REOPEN, row: { job_id: old.jobId, new_job_id: newJobId } },
  ],
}

/** Nothing, for a job of this kind that somebody submitted without a task. */
function uuidOf(payload: unknown): { uuid?: string } {
  if (typeof payload !== 'object' || payload === null || !('uuid' in payload)) return {}
  const uuid = parseJobId(String(payload.uuid))
  return uuid === null ? {} : { uuid }
}
