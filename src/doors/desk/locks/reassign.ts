// POST /tasks/{uuid}/reassign: an admin gives a task to an operator, whoever holds it.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { invalid } from '../errors.ts'
import { actorOf, operatorGuard, type GuardParts } from '../guard.ts'
import { findVisible, TaskPath } from '../tasks/read-tasks.ts'
import { operatorView, TaskDetail } from '../tasks/task-view.ts'
import { claim, type LockParts } from './lock.ts'
import { LockedBody, refusalBody } from './refusal.ts'

const ReassignBody = Type.Object({ operator_id: Type.String({ minLength: 1, maxLength: 200 }) })

export const reassignRoute =
  (parts: GuardParts & LockParts): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { tasks, settings, identity } = parts
    app.post(
      '/api/v1/captcha/tasks/:uuid/reassign',
      {
        onRequest: operatorGuard(parts, 'ADMIN'),
        schema: {
          tags: ['desk'],
          summary: 'Give a task to an operator, whoever holds it.',
          security: SECURED,
          params: TaskPath,
          body: ReassignBody,
          response: { 200: TaskDetail, 409: LockedBody, ...refusals(401, 403, 404, 422, 429) },
        },
      },
      async (request, reply) => {
        const { operator_id: operator } = request.body
        const account = settings.CAPTCHA_AUTH === 'on' ? await identity.findAccount(operator) : null
        if (settings.CAPTCHA_AUTH === 'on' && (account?.isActive !== true || !account.roles.includes('OPERATOR')))
          throw invalid('operator_id', 'must be the name of an operator')
        const task = await findVisible(tasks, request, request.params.uuid)
        const lockSec = settings.CAPTCHA_TASK_LOCK_TTL
        const answer = await claim(parts, task, { operator, actor: actorOf(request), lockSec, steals: true })
        const now = (await tasks.find(task.uuid)) ?? task
        return answer.ok ? operatorView(now, settings) : reply.code(409).send(refusalBody(answer, now))
      },
    )
  }
