// GET /tasks, /tasks/pending and /tasks/{uuid}. An operator sees all tasks, a program its own.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import type { Queryable } from '../../../core/db/database.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { preferredWaitMs, waitSignal } from '../../../core/http/request/prefer.ts'
import { audit } from '../changes/audit.ts'
import type { Desk } from '../desk.ts'
import { domainOf } from '../domains/domain.ts'
import { invalidQuery, taskNotFound } from '../errors.ts'
import { actorOf, deskGuard, has, type GuardParts } from '../guard.ts'
import { isEndedStatus, STATUSES, type TaskRow, type WholeTaskRow } from './task.ts'
import { creatorView, isCreator, operatorView, summaryOf, TaskDetail, TaskSummary } from './task-view.ts'
import type { TaskFilter, TaskPlace, TaskStore } from './task-store.ts'

const LIMIT_DEFAULT = 20
const LIMIT_MAX = 100
const PAGE_MAX = 100_000

const PageQuery = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_MAX })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, description: `Default ${LIMIT_DEFAULT}.` })),
  domain: Type.Optional(Type.String({ maxLength: 2048 })),
  min_priority: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
  challenge_type: Type.Optional(Type.String({ maxLength: 100 })),
}
const PLACE = '^\\d{1,2}\\.\\d{1,18}$'
const Query = Type.Object({
  ...PageQuery,
  open: Type.Optional(Type.Boolean({ description: 'true: only tasks that have not ended.' })),
  q: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Text in the address, the error, the request id, the type or the uuid of an open task.',
    }),
  ),
  older_than: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 10 ** 9, description: 'Created so many seconds ago, or earlier.' }),
  ),
  overdue: Type.Optional(Type.Boolean({ description: 'true: only tasks that wait, or are held, for too long.' })),
  after: Type.Optional(
    Type.String({ pattern: PLACE, description: '`next_after` of the page before, in place of `page`.' }),
  ),
  status: Type.Optional(Type.Enum([...STATUSES])),
  assigned_to: Type.Optional(Type.String({ maxLength: 200 })),
  order: Type.Optional(
    Type.Enum(['priority', 'newest'], { description: 'priority (default): most urgent first, then the oldest.' }),
  ),
})
const PendingQuery = Type.Object(PageQuery)
type Query = Static<typeof Query>

const Listed = Type.Object({
  tasks: Type.Array(TaskSummary),
  total: Type.Integer(),
  page: Type.Integer(),
  limit: Type.Integer(),
  has_more: Type.Boolean(),
  next_after: Type.Union([Type.String(), Type.Null()], { description: '`after` of the next page; null: the last.' }),
})

export const TaskPath = Type.Object({ uuid: Type.String({ maxLength: 512 }) })

type ReadParts = GuardParts & Pick<Desk, 'tasks' | 'taskWaits' | 'database' | 'sealer' | 'proxies'>

export const readTasksRoute =
  (parts: ReadParts): FastifyPluginAsyncTypebox =>
  async (app) => {
    const onRequest = deskGuard(parts, 'OPERATOR', 'SCRAPER', 'ADMIN')
    const secured = { tags: ['desk'], security: SECURED }
    const response = { 200: Listed, ...refusals(401, 403, 422) }

    const all = {
      ...secured,
      summary: 'List tasks, most urgent first, then the oldest; a program sees its own.',
      querystring: Query,
      response,
    }
    app.get('/api/v1/captcha/tasks', { onRequest, schema: all }, async (request) => {
      const filter = filterOf(request, request.query)
      return listed(parts, await parts.tasks.list(filter), filter)
    })

    const summary = 'List pending tasks, most urgent first.'
    const pending = { ...secured, summary, querystring: PendingQuery, response }
    app.get('/api/v1/captcha/tasks/pending', { onRequest, schema: pending }, async (request) => {
      const filter = filterOf(request, { ...request.query, status: 'pending' })
      return listed(parts, await parts.tasks.list(filter), filter)
    })

    const one = {
      ...secured,
      summary: 'One task; to its creator with the solution. `Prefer: wait=N` (at most 50) waits for its end.',
      params: TaskPath,
      response: { 200: TaskDetail, ...refusals(401, 403, 404) },
    }
    app.get('/api/v1/captcha/tasks/:uuid', { onRequest, schema: one }, async (request, reply) => {
      const task = await waited(parts, await findVisible(parts.tasks, request, request.params.uuid), request, reply)
      if (isCreator(request, task)) return creatorView(parts, task)
      await noteSeen(parts.database, request, task)
      return operatorView(task, parts.settings)
    })
  }

/** A program that asks for a task of another gets 404, as if there were none. */
export async function findVisible(tasks: TaskStore, request: FastifyRequest, uuid: string): Promise<WholeTaskRow> {
  const task = await tasks.find(uuid)
  const seesAll = has(request, 'OPERATOR') || has(request, 'ADMIN')
  if (task === null || !(seesAll || isCreator(request, task))) throw taskNotFound()
  return task
}

/** The first look of somebody other than the creator is recorded. */
export async function noteSeen(on: Queryable, request: FastifyRequest, task: WholeTaskRow): Promise<void> {
  if (isCreator(request, task)) return
  await audit(on, { action: 'seen', actor: actorOf(request), uuid: task.uuid })
}

async function waited({ taskWaits }: ReadParts, task: WholeTaskRow, request: FastifyRequest, reply: FastifyReply) {
  const timeoutMs = preferredWaitMs(request)
  if (timeoutMs === 0 || isEndedStatus(task.status)) return task
  reply.header('preference-applied', `wait=${timeoutMs / 1000}`)
  return (await taskWaits.wait(task, { timeoutMs, signal: waitSignal(request, reply) })).task ?? task
}

function filterOf(request: FastifyRequest, query: Query): TaskFilter {
  const { page = 1, limit = LIMIT_DEFAULT, domain, status, assigned_to: assignedTo, challenge_type: kind } = query
  const seesAll = has(request, 'OPERATOR') || has(request, 'ADMIN')
  return {
    accountId: seesAll ? null : accountOf(request).accountId,
    status: status ?? null,
    minPriority: query.min_priority ?? null,
    order: query.order ?? 'priority',
    domain: domain === undefined ? null : parsedDomain(domain),
    assignedTo: assignedTo ?? null,
    challengeType: kind ?? null,
    isOpen: query.open === true,
    text: query.q ?? null,
    olderThanSec: query.older_than ?? null,
    isOverdue: query.overdue === true,
    after: query.after === undefined ? null : placeOf(query.after),
    limit,
    offset: (page - 1) * limit,
  }
}

function placeOf(text: string): TaskPlace {
  const [priority = '', id = ''] = text.split('.')
  return { priority: Number(priority), id }
}

function parsedDomain(text: string): string {
  const domain = domainOf(text)
  if (domain === null) throw invalidQuery('domain', 'must be a domain')
  return domain
}

const listed = (
  { settings }: ReadParts,
  { tasks, total, hasMore }: { tasks: TaskRow[]; total: number; hasMore: boolean },
  { limit, offset }: TaskFilter,
) => ({
  tasks: tasks.map((task) => summaryOf(task, settings)),
  total,
  page: offset / limit + 1,
  limit,
  has_more: hasMore,
  next_after: hasMore ? nextAfter(tasks) : null,
})

function nextAfter(tasks: readonly TaskRow[]): string | null {
  const last = tasks.at(-1)
  return last === undefined ? null : `${last.priority}.${last.id}`
}
