// POST /tasks/{uuid}/assign: an operator takes the lock. The same operator renews it; another gets 409 with the holder and the time.
// An admin may take it away, which the audit trail records.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { forbidden } from '../errors.ts'
import { has, operatorGuard, operatorOf, type GuardParts } from '../guard.ts'
import { findVisible, TaskPath } from '../tasks/read-tasks.ts'
import { operatorView, TaskDetail } from '../tasks/task-view.ts'
import { claim, type LockParts } from './lock.ts'
import { LockedBody, refusalBody } from './refusal.ts'

const LOCK_SEC = { min: 60, max: 7200 }

const AssignBody = Type.Object({
  operator_id: Type.String({ minLength: 1, maxLength: 200 }),
  lock_duration_seconds: Type.Optional(Type.Integer({ minimum: LOCK_SEC.min, maximum: LOCK_SEC.max })),
  steal: Type.Optional(
    Type.Boolean({ description: 'ADMIN: take the lock away. Implied for an admin who is not an operator.' }),
  ),
})

const AssignResponse = Type.Object({
  success: Type.Literal(true),
  message: Type.String(),
  task: TaskDetail,
  lock_expires_at: Type.String({ format: 'date-time' }),
  operator_id: Type.String(),
  locked_until: Type.String({ format: 'date-time' }),
})

export const assignRoute =
  (parts: GuardParts & LockParts): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { tasks, settings } = parts
    app.post(
      '/api/v1/captcha/tasks/:uuid/assign',
      {
        onRequest: operatorGuard(parts, 'OPERATOR', 'ADMIN'),
        schema: {
          tags: ['desk'],
          summary: 'Claim a task, or renew the claim.',
          security: SECURED,
          params: TaskPath,
          body: AssignBody,
          response: { 200: AssignResponse, 409: LockedBody, ...refusals(401, 403, 404, 422, 429) },
        },
      },
      async (request, reply) => {
        const { operator_id: named, lock_duration_seconds: lockSec = settings.CAPTCHA_TASK_LOCK_TTL } = request.body
        const operator = operatorOf(request, named) ?? named
        const steals = isStealing(request, request.body.steal)
        const task = await findVisible(tasks, request, request.params.uuid)
        const answer = await claim(parts, task, { operator, lockSec, steals })
        const now = (await tasks.find(task.uuid)) ?? task
        if (!answer.ok) return reply.code(409).send(refusalBody(answer, now))
        const until = (now.locked_until ?? now.now).toISOString()
        return {
          success: true as const,
          message: answer.isRenewed ? 'Lock renewed' : 'Task assigned successfully',
          task: operatorView(now, settings),
          lock_expires_at: until,
          operator_id: operator,
          locked_until: until,
        }
      },
    )
  }

/** An account that is both operator and admin claims, unless it says that it steals. */
function isStealing(request: FastifyRequest, steal: boolean | undefined): boolean {
  if (steal === true && !has(request, 'ADMIN')) throw forbidden('Only an admin may take a lock away')
  return steal ?? !has(request, 'OPERATOR')
}
