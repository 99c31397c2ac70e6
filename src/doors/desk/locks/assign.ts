// POST /tasks/{uuid}/assign: an operator takes the lock. The same operator again renews it; for another it is a 409 with
// the holder and the time. An admin may take it away, which leaves its line in the trail.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import type { Desk } from '../desk.ts'
import { forbidden, Locked, lockedBody } from '../errors.ts'
import { has, operatorGuard, operatorOf } from '../guard.ts'
import { claim, type HoldRefusal } from './holding.ts'
import { findVisible, TaskPath } from '../tasks/read-tasks.ts'
import type { TaskRow } from '../tasks/task.ts'
import { operatorView, TaskDetail } from '../tasks/task-view.ts'

const LOCK_SEC = { min: 60, max: 7200 }

const AssignBody = Type.Object({
  operator_id: Type.String({ minLength: 1, maxLength: 200 }),
  lock_duration_seconds: Type.Optional(Type.Integer({ minimum: LOCK_SEC.min, maximum: LOCK_SEC.max })),
  steal: Type.Optional(
    Type.Boolean({ description: 'ADMIN: take the lock away. So does an admin who is no operator, without saying so.' }),
  ),
})

const Assigned = Type.Object({
  task: TaskDetail,
  operator_id: Type.String(),
  locked_until: Type.String({ format: 'date-time' }),
})

export const assignRoute =
  (desk: Desk): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/api/v1/captcha/tasks/:uuid/assign',
      {
        onRequest: operatorGuard(desk, 'OPERATOR', 'ADMIN'),
        schema: {
          tags: ['desk'],
          summary: 'Claim a task, or renew the claim.',
          security: SECURED,
          params: TaskPath,
          body: AssignBody,
          response: { 200: Assigned, 409: Locked, ...refusals(401, 403, 404, 422, 429) },
        },
      },
      async (request, reply) => {
        const { operator_id: named, lock_duration_seconds: lockSec = desk.settings.CAPTCHA_TASK_LOCK_TTL } =
          request.body
        const operator = operatorOf(request, named) ?? named
        const steals = isStealing(request, request.body.steal)
        const task = await findVisible(desk, request, request.params.uuid)
        const answer = await claim(desk, task, { operator, lockSec, steals })
        const now = (await desk.tasks.find(task.uuid)) ?? task
        if (!answer.ok) return reply.code(409).send(refusalBody(answer, now))
        const until = now.locked_until ?? now.now
        return { task: operatorView(now), operator_id: operator, locked_until: until.toISOString() }
      },
    )
  }

/** Whoever is an operator as well means to claim, not to steal, unless they say so. */
function isStealing(request: FastifyRequest, steal: boolean | undefined): boolean {
  if (steal === true && !has(request, 'ADMIN')) throw forbidden('Only an admin may take a lock away')
  return steal ?? !has(request, 'OPERATOR')
}

/** Why a task cannot be had now. */
export function refusalBody(refusal: HoldRefusal | { ok: false; code: 'lapsed' }, task: TaskRow) {
  switch (refusal.code) {
    case 'ended':
      return lockedBody({ message: `Task is ${task.status}`, holder: task.assigned_to, until: null })
    case 'lapsed':
      return lockedBody({ message: 'You have lost the lock: claim the task again', holder: null, until: null })
    case 'held':
      return lockedBody({ message: 'Task is locked by another operator', holder: refusal.holder, until: refusal.until })
  }
}
