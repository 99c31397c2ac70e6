// What waits for a worker, as the ledger's jobs stand in a line. A row is added with the job's submit and taken away with
// its end; between them it says who was given the job, so that others look elsewhere. Whether that worker still holds it
// is the ledger's to say: a row that says too much or too little costs a refused acquire, and is put right.
import type { Queryable } from '../../../core/db/database.ts'
import type { Effect } from '../../../core/ledger/effects.ts'

const INSERT_TASKS = `
  insert into pool_tasks (job_id, lane_id, priority, accepted_at, quorum_id, quorum, canary_id, callback_url, requires_hash,
                          deadline_at)
  select job_id, lane_id, priority, coalesce(accepted_at, clock_timestamp()), quorum_id, quorum, canary_id, callback_url,
         requires_hash, coalesce(deadline_at, clock_timestamp() + timeout_seconds * interval '1 second')
    from json_to_recordset($1) as r (job_id uuid, lane_id bigint, priority integer, accepted_at timestamptz, quorum_id uuid,
         quorum smallint, canary_id bigint, callback_url text, requires_hash boolean, deadline_at timestamptz,
         timeout_seconds integer)`

const DELETE_TASKS = `
  delete from pool_tasks using json_to_recordset($1) as r (job_id uuid) where pool_tasks.job_id = r.job_id`

const TOUCH_QUORUMS = `
  with named as materialized (
    select q.job_id, count(*) as times from json_to_recordset($1) as r (quorum_id uuid)
      join pool_quorums q on q.job_id = r.quorum_id group by q.job_id
  ), locked as materialized (
    select job_id from pool_quorums where job_id in (select job_id from named) order by job_id for no key update
  )
  update pool_quorums set touches = touches + named.times
    from named join locked on locked.job_id = named.job_id where pool_quorums.job_id = named.job_id`

export interface NewTask {
  jobId: string
  laneId: number
  priority: number
  callbackUrl?: string | null
  requiresHash?: boolean
  /** Of a job of its own; null: it waits for ever. */
  timeoutSec?: number | null
  canaryId?: number
  replicaOf?: { quorumId: string; quorum: number; acceptedAt: string; deadlineAt: string }
}

const rowOf = (task: NewTask): object => ({
  job_id: task.jobId,
  lane_id: task.laneId,
  priority: task.priority,
  callback_url: task.callbackUrl ?? null,
  requires_hash: task.requiresHash ?? false,
  timeout_seconds: task.timeoutSec ?? null,
  canary_id: task.canaryId ?? null,
  quorum_id: task.replicaOf?.quorumId ?? null,
  quorum: task.replicaOf?.quorum ?? null,
  accepted_at: task.replicaOf?.acceptedAt ?? null,
  deadline_at: task.replicaOf?.deadlineAt ?? null,
})

/** With the submit of its job. */
export const addTask = (task: NewTask): Effect => ({ sql: INSERT_TASKS, row: rowOf(task) })

export const insertTasks = async (on: Queryable, tasks: readonly NewTask[]): Promise<void> =>
  void (await on.query(INSERT_TASKS, [JSON.stringify(tasks.map(rowOf))]))

/** With the end of its job. */
export const removeTask = (jobId: string): Effect => ({ sql: DELETE_TASKS, row: { job_id: jobId } })

/** Something happened to a replica: its quorum is to be looked at. */
export const touchQuorum = (quorumId: string): Effect => ({ sql: TOUCH_QUORUMS, row: { quorum_id: quorumId } })
