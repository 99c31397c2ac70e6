// What can be assigned now: the classes in which tasks wait, and the first tasks of each.
import type { Database } from '../../../core/db/database.ts'

// Skips from one class to the next through the index, without reading the tasks in between.
const WAITING_CLASSES = `
  with recursive class as (
    (select class_id from pool_tasks where worker_id is null and class_id > $1
      order by class_id, priority desc, accepted_at, job_id limit 1)
    union all
    (select (select t.class_id from pool_tasks t where t.worker_id is null and t.class_id > class.class_id
              order by t.class_id, t.priority desc, t.accepted_at, t.job_id limit 1)
       from class where class.class_id is not null)
  )
  select class_id from class where class_id is not null limit $2`

// An owner runs at most one replica of a job, and workers on probation run fewer replicas than the quorum: they cannot agree
// on a result by themselves.
const FIRST_TASKS = `
  select t.class_id, t.job_id, t.priority, t.accepted_at, t.quorum_id, t.quorum,
         case when t.quorum_id is not null then array(
           select p.owner_id from pool_parts p where p.quorum_id = t.quorum_id and p.job_id <> t.job_id) end as owners,
         case when t.quorum_id is not null then (
           select count(*) from pool_parts p
            where p.quorum_id = t.quorum_id and p.job_id <> t.job_id and not p.is_trusted)::integer end as untrusted,
         extract(epoch from t.deadline_at - t.accepted_at)::float8 as timeout_sec, t.failed_by, clock_timestamp() as now
    from json_to_recordset($1) as l (class_id bigint, task_limit integer)
   cross join lateral (
     select * from pool_tasks
      where pool_tasks.worker_id is null and pool_tasks.class_id = l.class_id
        and (quorum_id is null or exists (
          select from unnest($2::bigint[], $3::boolean[]) as o (owner_id, is_trusted)
           where not exists (
                   select from pool_parts p
                    where p.quorum_id = pool_tasks.quorum_id and p.owner_id = o.owner_id and p.job_id <> pool_tasks.job_id)
             and (o.is_trusted or pool_tasks.quorum < 2 or (
                   select count(*) from pool_parts p
                    where p.quorum_id = pool_tasks.quorum_id and p.job_id <> pool_tasks.job_id and not p.is_trusted)
                   < pool_tasks.quorum - 1)))
      order by pool_tasks.class_id, priority desc, accepted_at, job_id limit l.task_limit) as t`

const CANARIES = `
  select t.class_id, t.job_id, t.priority, t.canary_id,
         array(select u.worker_id from pool_canary_uses u
                where u.canary_id = t.canary_id and u.worker_id = any($2::bigint[])) as used_by,
         clock_timestamp() as now
    from pool_tasks t
   where t.worker_id is null and t.class_id = any($1::bigint[])
   order by t.class_id, t.priority desc, t.accepted_at, t.job_id limit $3`

const CLASSES_MAX = 2000
const CANARIES_MAX = 500

export interface WaitingTask {
  classId: number
  jobId: string
  priority: number
  acceptedAt: number
  /** The database's clock. */
  now: Date
  /** Of the job. */
  timeoutSec: number
  /** Workers whose `failed` result is retried. */
  failedBy: readonly number[]
  /** Of a replica: the owners of the job's other replicas, and how many of those went to workers on probation. */
  replica: { quorumId: string; quorum: number; owners: readonly number[]; untrusted: number } | null
}

export interface WaitingCanary {
  classId: number
  jobId: string
  priority: number
  canaryId: number
  now: Date
  usedBy: ReadonlySet<number>
}

export interface PollingOwner {
  ownerId: number
  isTrusted: boolean
}

export interface Candidates {
  /** A page in the order of the ids; `next` is 0 after the last one. */
  waitingClasses(after: number): Promise<{ classIds: number[]; next: number }>
  firstTasks(
    classes: readonly { classId: number; limit: number }[],
    owners: readonly PollingOwner[],
  ): Promise<WaitingTask[]>
  canaries(classIds: readonly number[], workerIds: readonly number[]): Promise<WaitingCanary[]>
}

export function openCandidates({ hot }: Database): Candidates {
  return {
    async waitingClasses(after) {
      const rows = await hot.query<{ class_id: string }>(WAITING_CLASSES, [after, CLASSES_MAX])
      const classIds = rows.map((row) => Number(row.class_id))
      return { classIds, next: classIds.length < CLASSES_MAX ? 0 : (classIds.at(-1) ?? 0) }
    },
    async firstTasks(classes, owners) {
      const params = [
        JSON.stringify(classes.map(({ classId, limit }) => ({ class_id: classId, task_limit: limit }))),
        owners.map(({ ownerId }) => ownerId),
        owners.map(({ isTrusted }) => isTrusted),
      ]
      return (await hot.query<CandidateRow>(FIRST_TASKS, params)).map(taskFrom)
    },
    async canaries(classIds, workerIds) {
      const rows = await hot.query<CanaryRow>(CANARIES, [classIds, workerIds, CANARIES_MAX])
      return rows.map((row) => ({
        classId: Number(row.class_id),
        jobId: row.job_id,
        priority: row.priority,
        canaryId: Number(row.canary_id),
        now: row.now,
        usedBy: new Set(row.used_by.map(Number)),
      }))
    },
  }
}

interface CandidateRow {
  class_id: string
  job_id: string
  priority: number
  accepted_at: Date
  quorum_id: string | null
  quorum: number | null
  owners: string[] | null
  untrusted: number | null
  timeout_sec: number
  failed_by: string[]
  now: Date
}

interface CanaryRow {
  class_id: string
  job_id: string
  priority: number
  canary_id: string
  used_by: string[]
  now: Date
}

const taskFrom = (row: CandidateRow): WaitingTask => ({
  classId: Number(row.class_id),
  jobId: row.job_id,
  priority: row.priority,
  acceptedAt: row.accepted_at.getTime(),
  now: row.now,
  timeoutSec: row.timeout_sec,
  failedBy: row.failed_by.map(Number),
  replica:
    row.quorum_id === null
      ? null
      : {
          quorumId: row.quorum_id,
          quorum: row.quorum ?? 1,
          owners: (row.owners ?? []).map(Number),
          untrusted: row.untrusted ?? 0,
        },
})
