// POST /tasks/{uuid}/reveal: somebody other than the creator reads a solution, which the audit trail records.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { audit } from '../changes/audit.ts'
import type { Desk } from '../desk.ts'
import { conflict, forbidden } from '../errors.ts'
import { actorOf, has, operatorGuard, type GuardParts } from '../guard.ts'
import { findVisible, TaskPath } from '../tasks/read-tasks.ts'
import { openSolution } from './open-solution.ts'

const RevealBody = Type.Object({ reason: Type.String({ minLength: 1, maxLength: 2000 }) })
const Revealed = Type.Object({
  uuid: Type.String(),
  type: Type.String(),
  payload: Type.Unknown(),
  user_agent: Type.Union([Type.String(), Type.Null()]),
  notes: Type.Union([Type.String(), Type.Null()]),
})

export const revealRoute =
  (parts: GuardParts & Pick<Desk, 'tasks' | 'database' | 'sealer'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/api/v1/captcha/tasks/:uuid/reveal',
      {
        onRequest: operatorGuard(parts, 'OPERATOR', 'ADMIN'),
        schema: {
          tags: ['desk'],
          summary: 'Read a solution: an admin any, an operator their own. The audit trail records it.',
          security: SECURED,
          params: TaskPath,
          body: RevealBody,
          response: { 200: Revealed, ...refusals(401, 403, 404, 409, 422, 429) },
        },
      },
      async (request) => {
        const task = await findVisible(parts.tasks, request, request.params.uuid)
        const isSolver = task.assigned_to === accountOf(request).username
        if (!has(request, 'ADMIN') && !isSolver) throw forbidden('Only an admin may look at the solution of another')
        const solution = openSolution(parts.sealer, task)
        if (solution === null) throw conflict('There is no solution to show')
        const { reason } = request.body
        await audit(parts.database, { action: 'revealed', actor: actorOf(request), uuid: task.uuid, detail: reason })
        const { type, payload, user_agent: userAgent, notes } = solution
        return { uuid: task.uuid, type, payload, user_agent: userAgent, notes }
      },
    )
  }
