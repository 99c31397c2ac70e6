// Views of a task (docs/desk.md, section 3). Every view has the same fields, null where they are empty or not for the caller: only
// the creator sees the solution. Only a view of one task has the pictures of its form.
import { Type, type Static } from 'typebox'
import type { FastifyRequest } from 'fastify'
import { accountOf } from '../../../core/http/auth/guard.ts'
import type { Desk } from '../desk.ts'
import { cfClearanceOf, CookieItem } from '../solutions/cookie.ts'
import { openSolution } from '../solutions/open-solution.ts'
import type { Form, Image, TaskRow, WholeTaskRow } from './task.ts'
import { STATUSES } from './task.ts'

const Moment = Type.String({ format: 'date-time' })
const maybe = <S extends ReturnType<typeof Type.String>>(schema: S) => Type.Union([schema, Type.Null()])
const Text = maybe(Type.String())

export const TaskSummary = Type.Object({
  id: Type.Integer(),
  uuid: Type.String({ format: 'uuid' }),
  url: Type.String(),
  domain: Type.String(),
  status: Type.Enum([...STATUSES]),
  challenge_type: Text,
  error_message: Text,
  priority: Type.Integer(),
  assigned_to: Text,
  locked_until: maybe(Moment),
  attempts: Type.Integer({ description: 'How often the same work was asked for again while it was open.' }),
  has_solution: Type.Boolean(),
  solver_expires_at: maybe(Moment),
  preview_path: Text,
  proxy_url: Text,
  user_agent: Text,
  request_id: Text,
  last_error: Text,
  metadata: Type.Record(Type.String(), Type.Unknown()),
  form: Type.Unknown({ description: 'The question and its fields, for a general task.' }),
  created_at: Moment,
  updated_at: Moment,
  expires_at: Type.Union([Moment, Type.Null()], { description: 'When it expires, unless somebody claims it before.' }),
  overdue_at: Type.Union([Moment, Type.Null()], { description: 'Since when it waits, or is held, for too long.' }),
})

export const TaskDetail = Type.Object({
  ...TaskSummary.properties,
  solver_result: Type.Unknown({ description: 'To the creator only: {type, payload, user_agent}.' }),
  cf_clearance: Text,
  cookies_json: Type.Union([Type.Array(CookieItem), Type.Null()]),
  solver_notes: Text,
  solver_ip: Text,
  solved_at: maybe(Moment),
  scrape_options_json: Type.Unknown({ description: 'As the creator gave it.' }),
  callback_url: Text,
  wait_timeout: Type.Optional(
    Type.Integer({ description: 'Seconds that a program should wait, unless it knows better.' }),
  ),
})
type TaskDetail = Static<typeof TaskDetail>

export type ViewSettings = Pick<Desk['settings'], 'CAPTCHA_TASK_TIMEOUT'>

export const summaryOf = (task: TaskRow, settings: ViewSettings): Static<typeof TaskSummary> => ({
  id: Number(task.id),
  uuid: task.uuid,
  url: task.url,
  domain: task.domain,
  status: task.status,
  challenge_type: task.challenge_type,
  error_message: task.error_message,
  priority: task.priority,
  assigned_to: task.assigned_to,
  locked_until: iso(task.locked_until),
  attempts: task.attempts,
  has_solution: task.has_solution,
  solver_expires_at: iso(task.solver_expires_at),
  preview_path: task.preview_type === null ? null : `/api/v1/captcha/tasks/${task.uuid}/preview`,
  proxy_url: task.proxy_shown,
  user_agent: task.user_agent,
  request_id: task.request_id,
  last_error: task.last_error,
  metadata: task.metadata,
  form: task.form,
  created_at: task.created_at.toISOString(),
  updated_at: task.updated_at.toISOString(),
  expires_at: iso(expiryOf(task, settings)),
  overdue_at: iso(task.overdue_at),
})

/** A lock suspends it. */
function expiryOf({ unclaimed_since: since, ended_at: endedAt }: TaskRow, settings: ViewSettings): Date | null {
  if (since === null || endedAt !== null) return null
  return new Date(since.getTime() + settings.CAPTCHA_TASK_TIMEOUT * 1000)
}

/** For an operator: everything but the solution. */
export const operatorView = (task: WholeTaskRow, settings: ViewSettings): TaskDetail => ({
  solver_result: null,
  cf_clearance: null,
  cookies_json: null,
  solver_notes: null,
  solver_ip: null,
  solved_at: task.status === 'solved' ? iso(task.ended_at) : null,
  scrape_options_json: task.scrape_options,
  callback_url: null,
  ...summaryOf(task, settings),
  form: formWithImages(task.form, task.images),
})

/** For the creator. */
export function creatorView(
  { sealer, proxies, settings }: Pick<Desk, 'sealer' | 'proxies' | 'settings'>,
  task: WholeTaskRow,
): TaskDetail {
  const view = {
    wait_timeout: settings.CAPTCHA_WORKER_WAIT_TIMEOUT,
    ...operatorView(task, settings),
    proxy_url: proxies.byId(task.proxy_id)?.url ?? task.proxy_shown,
    callback_url: task.callback_url,
  }
  const solution = openSolution(sealer, task)
  if (solution === null) return view
  const { type, payload, cookies, user_agent: userAgent, notes, ip } = solution
  return {
    ...view,
    solver_result: { type, payload, user_agent: userAgent },
    user_agent: userAgent ?? task.user_agent,
    cf_clearance: cfClearanceOf(cookies),
    cookies_json: cookies.length === 0 ? null : cookies,
    solver_notes: notes,
    solver_ip: ip,
  }
}

export const isCreator = (request: FastifyRequest, task: TaskRow): boolean =>
  accountOf(request).accountId === Number(task.account_id)

function formWithImages(form: Form | null, images: readonly Image[] | null): unknown {
  if (form === null) return null
  const fields = form.fields.map((field) => {
    if (field.type !== 'image') return field
    const image = images?.[field.image]
    return { ...field, image: image === undefined ? null : `data:${image.type};base64,${image.base64}` }
  })
  return { ...form, fields }
}

const iso = (moment: Date | null): string | null => moment?.toISOString() ?? null
