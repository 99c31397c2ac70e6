// POST /tasks/{uuid}/release and PATCH /tasks/{uuid}/status: what the holder of a lock does with the task short of ending it. An
// admin may release what somebody else holds.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { reopened, solving } from '../changes/lock-changes.ts'
import { actorOf, has, operatorGuard, operatorOf, type GuardParts } from '../guard.ts'
import { findVisible, TaskPath } from '../tasks/read-tasks.ts'
import { operatorView, TaskDetail } from '../tasks/task-view.ts'
import type { WholeTaskRow } from '../tasks/task.ts'
import { currentHolder, release, type LockParts } from './lock.ts'
import { LockedBody, notHeldBody, refusalBody } from './refusal.ts'

// The ledger has no part in these two: the row's own lock is the fence.
const LOCK_HELD = `
  select uuid from captcha_task
   where uuid = $1 and ($2::text is null or assigned_to = $2) and locked_until > clock_timestamp() for update`
const LOCK_FAILED = `select uuid from captcha_task where uuid = $1 and status = 'failed' for update`

const StatusBody = Type.Object({
  status: Type.Enum(['solving', 'pending', 'failed']),
  error: Type.Optional(Type.Union([Type.String({ maxLength: 2000 }), Type.Null()])),
})

type ReleaseParts = GuardParts & LockParts

export const releaseRoute =
  (parts: ReleaseParts): FastifyPluginAsyncTypebox =>
  async (app) => {
    const secured = { tags: ['desk'], security: SECURED, params: TaskPath }
    const response = { 200: TaskDetail, 409: LockedBody, ...refusals(401, 403, 404, 422, 429) }

    app.post(
      '/api/v1/captcha/tasks/:uuid/release',
      {
        onRequest: operatorGuard(parts, 'OPERATOR', 'ADMIN'),
        schema: { ...secured, summary: 'Give the lock back.', response },
      },
      async (request, reply) => {
        const task = await findVisible(parts.tasks, request, request.params.uuid)
        return giveBack(parts, request, reply, { task, how: 'released', error: null })
      },
    )

    const summary = 'Set the status: solving, failed, or pending again.'
    app.patch(
      '/api/v1/captcha/tasks/:uuid/status',
      { onRequest: operatorGuard(parts, 'OPERATOR'), schema: { ...secured, summary, body: StatusBody, response } },
      async (request, reply) => {
        const task = await findVisible(parts.tasks, request, request.params.uuid)
        const { status, error = null } = request.body
        if (status === 'solving') return setStatus(parts, request, reply, { task, status })
        if (status === 'failed') return giveBack(parts, request, reply, { task, how: 'failed', error })
        if (task.status === 'pending') return operatorView(task, parts.settings)
        if (task.status === 'failed') return setStatus(parts, request, reply, { task, status })
        return giveBack(parts, request, reply, { task, how: 'released', error: null })
      },
    )
  }

interface GivingBack {
  task: WholeTaskRow
  how: 'released' | 'failed'
  error: string | null
}

async function giveBack(
  parts: ReleaseParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { task, how, error }: GivingBack,
) {
  const operator = operatorOf(request)
  const holder = await currentHolder(parts, task)
  if (holder === null) return reply.code(409).send(notHeldBody(task, operator))
  if (holder === 'ended') return reply.code(409).send(refusalBody({ ok: false, code: 'ended' }, task))
  const { held, until } = holder
  const isMine = operator === null || held.owner === operator
  const mayForce = how === 'released' && has(request, 'ADMIN')
  if (!isMine && !mayForce)
    return reply.code(409).send(refusalBody({ ok: false, code: 'held', holder: held.owner, until }, task))
  const actor = actorOf(request, held.owner)
  const isReleased = await release(parts, task, held, { actor, how: isMine ? how : 'stolen', error })
  const now = (await parts.tasks.find(task.uuid)) ?? task
  return isReleased ? operatorView(now, parts.settings) : reply.code(409).send(notHeldBody(now, operator))
}

async function setStatus(
  parts: ReleaseParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { task, status }: { task: WholeTaskRow; status: 'solving' | 'pending' },
) {
  const operator = operatorOf(request)
  const actor = actorOf(request, task.assigned_to)
  const made = await parts.changes.transact(async (tx) => {
    const locked =
      status === 'solving' ? await tx.query(LOCK_HELD, [task.uuid, operator]) : await tx.query(LOCK_FAILED, [task.uuid])
    if (locked.length === 0) return []
    return [status === 'solving' ? solving(task, actor) : reopened(task, actor)]
  })
  const now = (await parts.tasks.find(task.uuid)) ?? task
  return made.length === 0 ? reply.code(409).send(notHeldBody(now, operator)) : operatorView(now, parts.settings)
}
