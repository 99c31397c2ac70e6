// What can be assigned now: the classes in which tasks wait, and the first tasks of each.
import type { Database } from '../../../core/db/database.ts'

const TASK_COLUMNS = `
         t.job_id, t.priority, t.accepted_at, t.quorum_id, t.quorum,
         case when t.quorum_id is not null then array(
           select p.owner_id from pool_parts p where p.quorum_id = t.quorum_id and p.job_id <> t.job_id) end as owners,
         case when t.quorum_id is not null then (
           select count(*) from pool_parts p
            where p.quorum_id = t.quorum_id and p.job_id <> t.job_id and not p.is_trusted)::integer end as untrusted,
         extract(epoch from t.deadline_at - t.accepted_at)::float8 as timeout_sec, t.failed_by, clock_timestamp() as now`

// Of class l. An owner runs at most one replica of a job, and workers on probation run fewer replicas than the quorum: they cannot
// agree on a result by themselves.
const TASKS_OF_CLASS = `
     select * from pool_tasks
      where pool_tasks.worker_id is null and pool_tasks.class_id = l.class_id
        and (quorum_id is null or exists (
          select from unnest($1::bigint[], $2::boolean[]) as o (owner_id, is_trusted)
           where not exists (
                   select from pool_parts p
                    where p.quorum_id = pool_tasks.quorum_id and p.owner_id = o.owner_id and p.job_id <> pool_tasks.job_id)
             and (o.is_trusted or pool_tasks.quorum < 2 or (
                   select count(*) from pool_parts p
                    where p.quorum_id = pool_tasks.quorum_id and p.job_id <> pool_tasks.job_id and not p.is_trusted)
                   < pool_tasks.quorum - 1)))
      order by pool_tasks.class_id, priority desc, accepted_at, job_id limit coalesce(l.task_limit, 0)`

const LIMITS = `json_to_recordset($3) as l (class_id bigint, task_limit integer)`

const FIRST_TASKS = `
  select l.class_id, ${TASK_COLUMNS} from ${LIMITS} cross join lateral (${TASKS_OF_CLASS}) as t`

// Skips from one class to the next through the index, without reading the tasks in between. Of the classes that are named with a
// limit it also reads the first tasks.
const WAITING_CLASSES = `
  with recursive class as (
    (select class_id from pool_tasks where worker_id is null and class_id > $4
      order by class_id, priority desc, accepted_at, job_id limit 1)
    union all
    (select (select t.class_id from pool_tasks t where t.worker_id is null and t.class_id > class.class_id
              order by t.class_id, t.priority desc, t.accepted_at, t.job_id limit 1)
       from class where class.class_id is not null)
  ), waiting as materialized (
    select class_id from class where class_id is not null limit $5
  )
  select waiting.class_id, ${TASK_COLUMNS}
    from waiting
    left join ${LIMITS} on l.class_id = waiting.class_id
    left join lateral (${TASKS_OF_CLASS}) as t on true`

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

/** How many tasks of which classes, for workers of these owners. */
export interface WantedTasks {
  classes: readonly { classId: number; limit: number }[]
  owners: readonly PollingOwner[]
}

export interface WaitingClasses {
  classIds: number[]
  /** 0 after the last one. */
  next: number
  /** Of the classes that were wanted. */
  tasks: WaitingTask[]
}

export interface Candidates {
  /** A page of the classes in which tasks wait, in the order of the ids, with the tasks that are expected to be wanted. */
  waitingClasses(after: number, expected: WantedTasks): Promise<WaitingClasses>
  firstTasks(wanted: WantedTasks): Promise<WaitingTask[]>
  canaries(classIds: readonly number[], workerIds: readonly number[]): Promise<WaitingCanary[]>
}

export function openCandidates({ hot }: Database): Candidates {
  return {
    async waitingClasses(after, expected) {
      const rows = await hot.query<ClassOrTaskRow>(WAITING_CLASSES, [...wantedParams(expected), after, CLASSES_MAX])
      const classIds = [...new Set(rows.map((row) => Number(row.class_id)))]
      const next = classIds.length < CLASSES_MAX ? 0 : (classIds.at(-1) ?? 0)
      return { classIds, next, tasks: rows.flatMap((row) => (isTask(row) ? [taskFrom(row)] : [])) }
    },
    firstTasks: async (wanted) => (await hot.query<CandidateRow>(FIRST_TASKS, wantedParams(wanted))).map(taskFrom),
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

const wantedParams = ({ classes, owners }: WantedTasks) => [
  owners.map(({ ownerId }) => ownerId),
  owners.map(({ isTrusted }) => isTrusted),
  JSON.stringify(classes.map(({ classId, limit }) => ({ class_id: classId, task_limit: limit }))),
]

/** Of a class of which no task was read, all but its id is null. */
type ClassOrTaskRow = CandidateRow | { class_id: string; job_id: null }

const isTask = (row: ClassOrTaskRow): row is CandidateRow => row.job_id !== null

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
