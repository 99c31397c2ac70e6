// Reading tasks. Those who wait are answered in crowds, so that reads of one task share a query.
import { batched } from '../../core/batch.ts'
import type { Database, Queryable } from '../../core/database.ts'
import { parseJobId } from '../../core/ledger/job.ts'
import { COLUMNS, STATUS, type TaskRow, type TaskStatus, type WholeTaskRow } from './task.ts'

const SELECT_MANY = `
  select ${COLUMNS}, t.solver_result, t.images from captcha_task t where t.uuid = any ($1::uuid[])`
const SELECT_BY_ID = `select ${COLUMNS}, t.solver_result, t.images from captcha_task t where t.id = $1`
const SELECT_BY_JOB = `select ${COLUMNS}, t.solver_result, t.images from captcha_task t where t.job_id = $1`

// What is open has an index of its own, best first; the rest is history, newest first.
const FILTER = `
  ($1::bigint is null or t.account_id = $1) and ($2::text is null or ${STATUS} = $2) and ($3::text is null or t.domain = $3)
  and ($4::text is null or t.assigned_to = $4) and ($5::text is null or t.challenge_type = $5)`
const LIST = `select ${COLUMNS} from captcha_task t where ${FILTER} order by t.id desc limit $6 offset $7`
const COUNT = `select count(*)::integer as total from captcha_task t where ${FILTER}`
const LIST_OPEN = `
  select ${COLUMNS} from captcha_task t where t.ended_at is null and ${FILTER}
   order by t.priority desc, t.id limit $6 offset $7`
const COUNT_OPEN = `select count(*)::integer as total from captcha_task t where t.ended_at is null and ${FILTER}`

export interface TaskFilter {
  /** Only this account's. */
  accountId: number | null
  status: TaskStatus | null
  domain: string | null
  assignedTo: string | null
  challengeType: string | null
  limit: number
  offset: number
}

export interface TaskStore {
  /** Null: no such task, or something that cannot be the name of one. */
  find(uuid: string): Promise<WholeTaskRow | null>
  findById(id: number): Promise<WholeTaskRow | null>
  findByJob(jobId: string): Promise<WholeTaskRow | null>
  list(filter: TaskFilter): Promise<{ tasks: TaskRow[]; total: number }>
  /** The open ones, most urgent first. */
  listOpen(filter: TaskFilter): Promise<{ tasks: TaskRow[]; total: number }>
}

export function openTaskStore(database: Database): TaskStore {
  const read = batched<string, { task: WholeTaskRow | null }>({
    async run(uuids) {
      const rows = await database.hot.query<WholeTaskRow>(SELECT_MANY, [uuids])
      const rowOf = new Map(rows.map((row) => [row.uuid, row]))
      return uuids.map((uuid) => ({ task: rowOf.get(uuid) ?? null }))
    },
  })
  const one = async (sql: string, param: unknown) => (await database.query<WholeTaskRow>(sql, [param]))[0] ?? null

  return {
    async find(text) {
      const uuid = parseJobId(text)
      return uuid === null ? null : (await read(uuid)).task
    },
    findById: (id) => one(SELECT_BY_ID, id),
    findByJob: (jobId) => one(SELECT_BY_JOB, jobId),
    list: (filter) => page(database, filter, { list: LIST, count: COUNT }),
    listOpen: (filter) => page(database, filter, { list: LIST_OPEN, count: COUNT_OPEN }),
  }
}

async function page(on: Queryable, filter: TaskFilter, sql: { list: string; count: string }) {
  const { accountId, status, domain, assignedTo, challengeType, limit, offset } = filter
  const params = [accountId, status, domain, assignedTo, challengeType]
  const [tasks, counted] = await Promise.all([
    on.query<TaskRow>(sql.list, [...params, limit, offset]),
    on.query<{ total: number }>(sql.count, params),
  ])
  return { tasks, total: counted[0]?.total ?? 0 }
}
