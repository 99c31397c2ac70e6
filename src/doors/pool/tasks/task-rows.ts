// pool_tasks: one row for every `pool` job that has not ended. A row is inserted with the job's submit and deleted with its
// end; in between it names the worker that was assigned the job, so that matching skips it. Whether that worker still holds
// the job is for the ledger to decide: a wrong row costs a refused acquire and is repaired.
import type { Effect } from '../../../core/ledger/effects.ts'

const INSERT_TASKS = `
  insert into pool_tasks (job_id, class_id, priority, accepted_at, quorum_id, quorum, canary_id, callback_url, requires_hash,
                          deadline_at, retries_left, payload_bytes)
  select job_id, coalesce(class_id, (select c.class_id from pool_requirement_classes c where c.key = class_key)), priority,
         coalesce(accepted_at, clock_timestamp()), quorum_id, quorum, canary_id, callback_url, requires_hash,
         coalesce(deadline_at, clock_timestamp() + timeout_seconds * interval '1 second'), retries, payload_bytes
    from json_to_recordset($1) as r (job_id uuid, class_id bigint, class_key text, priority integer, accepted_at timestamptz,
         quorum_id uuid, quorum smallint, canary_id bigint, callback_url text, requires_hash boolean,
         deadline_at timestamptz, timeout_seconds integer, retries smallint,
         payload_bytes integer)`

const DELETE_TASKS = `
  delete from pool_tasks using json_to_recordset($1) as r (job_id uuid) where pool_tasks.job_id = r.job_id`

/** The class of a task: its id, or its key where the class is written in the same transaction. */
export type ClassRef = { classId: number } | { classKey: string }

export type NewPoolTask = ClassRef & {
  jobId: string
  priority: number
  callbackUrl?: string | null
  requiresHash?: boolean
  /** Null: no deadline. */
  timeoutSec?: number | null
  /** How many `failed` results are not final. */
  retries?: number
  payloadBytes?: number
  canaryId?: number
  replicaOf?: { quorumId: string; quorum: number; acceptedAt?: string; deadlineAt?: string }
}

export const classColumns = (ref: ClassRef) =>
  'classId' in ref ? { class_id: ref.classId, class_key: null } : { class_id: null, class_key: ref.classKey }

const taskRow = (task: NewPoolTask): object => ({
  job_id: task.jobId,
  priority: task.priority,
  callback_url: task.callbackUrl ?? null,
  requires_hash: task.requiresHash ?? false,
  timeout_seconds: task.timeoutSec ?? null,
  retries: task.retries ?? 0,
  payload_bytes: task.payloadBytes ?? 0,
  canary_id: task.canaryId ?? null,
  quorum_id: task.replicaOf?.quorumId ?? null,
  quorum: task.replicaOf?.quorum ?? null,
  accepted_at: task.replicaOf?.acceptedAt ?? null,
  deadline_at: task.replicaOf?.deadlineAt ?? null,
  ...classColumns(task),
})

/** With the submit of its job. */
export const addTask = (task: NewPoolTask): Effect => ({ sql: INSERT_TASKS, row: taskRow(task) })

/** With the end of its job. */
export const removeTask = (jobId: string): Effect => ({ sql: DELETE_TASKS, row: { job_id: jobId } })
