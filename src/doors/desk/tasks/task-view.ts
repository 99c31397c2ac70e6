// Views of a task. Only the creator's own view has the solution, and only a view of one task has the pictures of its form.
import { Type, type Static } from 'typebox'
import type { FastifyRequest } from 'fastify'
import { accountOf } from '../../../core/http/auth/guard.ts'
import type { Desk } from '../desk.ts'
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
})

export const TaskDetail = Type.Object({
  ...TaskSummary.properties,
  solver_result: Type.Optional(Type.Unknown({ description: 'To the creator only: {type, payload, user_agent}.' })),
  cf_clearance: Type.Optional(Text),
  solver_notes: Type.Optional(Text),
  wait_timeout: Type.Optional(
    Type.Integer({ description: 'Seconds that a program should wait, unless it knows better.' }),
  ),
})

export const summaryOf = (task: TaskRow): Static<typeof TaskSummary> => ({
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
})

/** For an operator: everything but the solution. */
export const operatorView = (task: WholeTaskRow): Static<typeof TaskDetail> => ({
  ...summaryOf(task),
  form: formWithImages(task.form, task.images),
})

/** For the creator. */
export function creatorView(
  { sealer, proxies, settings }: Pick<Desk, 'sealer' | 'proxies' | 'settings'>,
  task: WholeTaskRow,
): Static<typeof TaskDetail> {
  const view = {
    ...operatorView(task),
    proxy_url: proxies.byId(task.proxy_id)?.url ?? task.proxy_shown,
    wait_timeout: settings.CAPTCHA_WORKER_WAIT_TIMEOUT,
  }
  const solution = openSolution(sealer, task)
  if (solution === null) return view
  const { type, payload, user_agent: userAgent, notes } = solution
  return {
    ...view,
    solver_result: { type, payload, user_agent: userAgent },
    cf_clearance: solution.cfClearance,
    solver_notes: notes,
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
