// POST /tasks/{uuid}/release and PATCH /tasks/{uuid}/status: what the holder of a lock says about the task short of ending
// it. An admin may release what somebody else holds.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { sendEffects } from '../../../core/ledger/effects.ts'
import { refusalBody } from './assign.ts'
import { auditEffect } from '../changes/audit.ts'
import { afterOwnCommit, eventEffects, type Desk } from '../desk.ts'
import { Locked, lockedBody } from '../errors.ts'
import { told, type DeskEvent } from '../changes/events.ts'
import { actorOf, has, operatorGuard, operatorOf } from '../guard.ts'
import { holderOf, putBack } from './holding.ts'
import { findVisible, TaskPath } from '../tasks/read-tasks.ts'
import type { TaskRow, TaskStatus, WholeTaskRow } from '../tasks/task.ts'
import { operatorView, TaskDetail } from '../tasks/task-view.ts'

// A word about a task that is held, or waits: the row's own lock is fence enough, the ledger knows nothing of it.
const SAY_SOLVING = `
  update captcha_task set status = 'solving', updated_at = clock_timestamp()
   where uuid = $1 and ($2::text is null or assigned_to = $2) and locked_until > clock_timestamp()
  returning uuid, assigned_to`
const SAY_PENDING = `
  update captcha_task set status = 'pending', updated_at = clock_timestamp(), unclaimed_since = clock_timestamp()
   where uuid = $1 and status = 'failed'
  returning uuid, assigned_to`

const StatusBody = Type.Object({
  status: Type.Enum(['solving', 'pending', 'failed']),
  error: Type.Optional(Type.Union([Type.String({ maxLength: 2000 }), Type.Null()])),
})

export const releaseRoute =
  (desk: Desk): FastifyPluginAsyncTypebox =>
  async (app) => {
    const secured = { tags: ['desk'], security: SECURED, params: TaskPath }
    const response = { 200: TaskDetail, 409: Locked, ...refusals(401, 403, 404, 422, 429) }

    app.post(
      '/api/v1/captcha/tasks/:uuid/release',
      {
        onRequest: operatorGuard(desk, 'OPERATOR', 'ADMIN'),
        schema: { ...secured, summary: 'Give the lock back.', response },
      },
      async (request, reply) => {
        const task = await findVisible(desk, request, request.params.uuid)
        return giveBack(desk, request, reply, { task, how: 'released', error: null })
      },
    )

    const summary = 'Say how it goes: solving, failed, or pending again.'
    app.patch(
      '/api/v1/captcha/tasks/:uuid/status',
      { onRequest: operatorGuard(desk, 'OPERATOR'), schema: { ...secured, summary, body: StatusBody, response } },
      async (request, reply) => {
        const task = await findVisible(desk, request, request.params.uuid)
        const { status, error = null } = request.body
        if (status === 'solving') return sayWord(desk, request, reply, { task, status })
        if (status === 'failed') return giveBack(desk, request, reply, { task, how: 'failed', error })
        if (task.status === 'pending') return operatorView(task)
        if (task.status === 'failed') return sayWord(desk, request, reply, { task, status })
        return giveBack(desk, request, reply, { task, how: 'released', error: null })
      },
    )
  }

interface GivingBack {
  task: WholeTaskRow
  how: 'released' | 'failed'
  error: string | null
}

async function giveBack(desk: Desk, request: FastifyRequest, reply: FastifyReply, { task, how, error }: GivingBack) {
  const operator = operatorOf(request)
  const holder = await holderOf(desk, task)
  const mayForce = how === 'released' && has(request, 'ADMIN')
  const isMine = holder !== null && holder !== 'ended' && (operator === null || holder.held.owner === operator)
  if (holder === null) return reply.code(409).send(notHeld(task, operator))
  if (holder === 'ended') return reply.code(409).send(refusalBody({ ok: false, code: 'ended' }, task))
  if (!isMine && !mayForce) {
    const { held, until } = holder
    return reply.code(409).send(refusalBody({ ok: false, code: 'held', holder: held.owner, until }, task))
  }
  const done = await putBack(desk, task, holder.held, {
    actor: actorOf(request, holder.held.owner),
    how: isMine ? how : 'stolen',
    error,
  })
  const now = (await desk.tasks.find(task.uuid)) ?? task
  return done ? operatorView(now) : reply.code(409).send(notHeld(now, operator))
}

async function sayWord(
  desk: Desk,
  request: FastifyRequest,
  reply: FastifyReply,
  { task, status }: { task: WholeTaskRow; status: TaskStatus },
) {
  const operator = operatorOf(request)
  const events = [eventOf(task, status, actorOf(request, task.assigned_to))]
  const isSaid = await desk.database.transaction(async (tx) => {
    const params = status === 'solving' ? [task.uuid, operator] : [task.uuid]
    const said = await tx.query(status === 'solving' ? SAY_SOLVING : SAY_PENDING, params)
    if (said.length === 0) return false
    const action = status === 'solving' ? 'solving' : 'reopened'
    sendEffects(tx, [
      auditEffect({ action, actor: actorOf(request, task.assigned_to), uuid: task.uuid }),
      ...eventEffects(desk, events),
    ])
    return true
  })
  const now = (await desk.tasks.find(task.uuid)) ?? task
  if (!isSaid) return reply.code(409).send(notHeld(now, operator))
  afterOwnCommit(desk, events)
  if (status === 'pending') desk.mirror.waits(now)
  return operatorView(now)
}

const eventOf = (task: TaskRow, status: TaskStatus, operator: string): DeskEvent =>
  status === 'solving' ? told.solving(task, operator) : told.released(task, operator, 'reopened')

/** What stands in the way of somebody who does not hold it. */
function notHeld(task: TaskRow, operator: string | null) {
  const { assigned_to: holder, locked_until: until, status } = task
  if (until !== null && holder !== operator)
    return refusalBody({ ok: false, code: 'held', holder: holder ?? '', until }, task)
  if (task.ended_at !== null) return refusalBody({ ok: false, code: 'ended' }, task)
  return lockedBody({ message: `Task is ${status}: claim it first`, holder: null, until: null })
}
