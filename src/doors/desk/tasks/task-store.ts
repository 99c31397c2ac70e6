// Reading tasks. Many waiting programs are answered at once, so that their reads share a query.
import { batched } from '../../../core/db/batch.ts'
import type { Database, Queryable } from '../../../core/db/database.ts'
import { parseJobId } from '../../../core/ledger/job.ts'
import { COLUMNS, OPEN_STATUSES, STATUS, type TaskRow, type TaskStatus, type WholeTaskRow } from './task.ts'

const SELECT_MANY = `
  select ${COLUMNS}, t.solver_result, t.images from captcha_task t where t.uuid = any ($1::uuid[])`
const SELECT_BY_ID = `select ${COLUMNS}, t.solver_result, t.images from captcha_task t where t.id = $1`
const SELECT_BY_JOB = `select ${COLUMNS}, t.solver_result, t.images from captcha_task t where t.job_id = $1`

const SEARCHED = `concat_ws(' ', t.url, t.error_message, t.request_id, t.challenge_type, t.uuid::text)`

const ORDERS = { newest: 't.id desc', priority: 't.priority desc, t.id' } as const

export interface TaskFilter {
  /** Only this account's. */
  accountId: number | null
  status: TaskStatus | null
  minPriority: number | null
  domain: string | null
  assignedTo: string | null
  challengeType: string | null
  /** Only open ones. */
  isOpen: boolean
  /** In the address, the error or the request id of an open task. */
  text: string | null
  /** Only those that were created so many seconds ago, or earlier. */
  olderThanSec: number | null
  isOverdue: boolean
  order: keyof typeof ORDERS
  /** The task after which the page begins. */
  after: TaskPlace | null
  limit: number
  offset: number
}

/** The place of a task in a list, which stays the same whatever comes before it. */
export interface TaskPlace {
  priority: number
  id: string
}

export interface TaskStore {
  /** Null: no such task, or a text that is not a UUID. */
  find(uuid: string): Promise<WholeTaskRow | null>
  findById(id: number): Promise<WholeTaskRow | null>
  findByJob(jobId: string): Promise<WholeTaskRow | null>
  list(filter: TaskFilter): Promise<{ tasks: TaskRow[]; total: number; hasMore: boolean }>
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
    list: (filter) => page(database, filter),
  }
}

/** Written from the filters that are given, so that each can use its index: a few dozen statements in all. */
async function page(on: Queryable, filter: TaskFilter) {
  const { accountId, status, minPriority, domain, assignedTo, challengeType, order, limit, offset } = filter
  const { text, olderThanSec, after } = filter
  const params: unknown[] = []
  const is = (expression: string, value: unknown) => (value === null ? [] : [`${expression} = $${params.push(value)}`])
  const isOpen = filter.isOpen || text !== null || OPEN_STATUSES.some((open) => open === status)
  const conditions = [
    ...(isOpen ? ['t.ended_at is null'] : []),
    ...is(isOpen ? STATUS : 't.status', status), // an end stays what it is; a lock may have lapsed
    ...(minPriority === null ? [] : [`t.priority >= $${params.push(minPriority)}`]),
    ...is('t.account_id', accountId),
    ...is('t.domain', domain),
    ...is('t.assigned_to', assignedTo),
    ...is('t.challenge_type', challengeType),
    ...(filter.isOverdue ? ['t.overdue_at is not null'] : []),
    ...(olderThanSec === null
      ? []
      : [`t.created_at <= clock_timestamp() - $${params.push(olderThanSec)} * interval '1 second'`]),
    ...(text === null ? [] : [`${SEARCHED} ilike $${params.push(`%${text.replaceAll(/[%_\\]/g, '\\$&')}%`)}`]),
  ]
  const where = conditions.length === 0 ? 'true' : conditions.join(' and ')
  const paged = [...params]
  const beyond = after === null ? 'true' : placeAfter(after, order, (value) => `$${paged.push(value)}`)
  const [limited, skipped] = [paged.length + 1, paged.length + 2]
  const list = `
    select ${COLUMNS} from captcha_task t where ${where} and ${beyond}
     order by ${ORDERS[order]} limit $${limited} offset $${skipped}`
  const [tasks, counted] = await Promise.all([
    on.query<TaskRow>(list, [...paged, limit + 1, after === null ? offset : 0]),
    on.query<{ total: number }>(`select count(*)::integer as total from captcha_task t where ${where}`, params),
  ])
  return { tasks: tasks.slice(0, limit), total: counted[0]?.total ?? 0, hasMore: tasks.length > limit }
}

function placeAfter(
  { priority, id }: TaskPlace,
  order: keyof typeof ORDERS,
  param: (value: unknown) => string,
): string {
  if (order === 'newest') return `t.id < ${param(id)}`
  const [rank, row] = [param(priority), param(id)]
  return `(t.priority < ${rank} or (t.priority = ${rank} and t.id > ${row}))`
}
