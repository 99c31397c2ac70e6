// POST /tasks/{uuid}/solve and /mark-unsolvable: an operator ends a task. The solution is the result of the task's job: the first one
// stays. A task that nobody has claimed is claimed and ended at once.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { operatorGuard, operatorOf, type GuardParts } from '../guard.ts'
import { LockedBody, refusalBody } from '../locks/refusal.ts'
import { findVisible, TaskPath } from '../tasks/read-tasks.ts'
import { operatorView, TaskDetail } from '../tasks/task-view.ts'
import type { WholeTaskRow } from '../tasks/task.ts'
import { markUnsolvable, solve, type EndParts } from './end.ts'
import { parseSolution, SolutionBody } from './solution.ts'

const EndResponse = Type.Object({
  success: Type.Literal(true),
  message: Type.String(),
  task: TaskDetail,
  session_cached: Type.Boolean(),
  session_ttl: Type.Union([Type.Integer(), Type.Null()]),
})
const UnsolvableBody = Type.Object({ reason: Type.String({ minLength: 1, maxLength: 2000 }) })

export const solveRoute =
  (parts: GuardParts & EndParts): FastifyPluginAsyncTypebox =>
  async (app) => {
    const onRequest = operatorGuard(parts, 'OPERATOR')
    const secured = { tags: ['desk'], security: SECURED, params: TaskPath }
    const response = { 200: EndResponse, 409: LockedBody, ...refusals(401, 403, 404, 422, 429) }
    const reread = async (task: WholeTaskRow) => (await parts.tasks.find(task.uuid)) ?? task
    const ended = (message: string, task: WholeTaskRow, ttlSec: number | null = null): Static<typeof EndResponse> => ({
      success: true,
      message,
      task: operatorView(task, parts.settings),
      session_cached: ttlSec !== null,
      session_ttl: ttlSec,
    })

    app.post(
      '/api/v1/captcha/tasks/:uuid/solve',
      { onRequest, schema: { ...secured, summary: 'Submit a solution.', body: SolutionBody, response } },
      async (request, reply) => {
        const task = await findVisible(parts.tasks, request, request.params.uuid)
        if (task.status === 'solved') return ended('Task already solved', task)
        const parsed = parseSolution(request.body, task, parts.settings)
        if (parsed instanceof HttpError) throw parsed
        const answer = await solve(parts, task, { operator: operatorOf(request), ip: request.ip }, parsed)
        const now = await reread(task)
        if (!answer.ok && now.status === 'solved') return ended('Task already solved', now)
        if (!answer.ok) return reply.code(409).send(refusalBody(answer, now))
        const ttlSec = parsed.sessionTtlSec
        const cached = ttlSec === null ? '' : ` Session cached for ${ttlSec} seconds.`
        return ended(`CAPTCHA solved successfully.${cached}`, now, ttlSec)
      },
    )

    const unsolvable = { ...secured, summary: 'Mark a task as unsolvable.', body: UnsolvableBody, response }
    app.post(
      '/api/v1/captcha/tasks/:uuid/mark-unsolvable',
      { onRequest, schema: unsolvable },
      async (request, reply) => {
        const { reason } = request.body
        const task = await findVisible(parts.tasks, request, request.params.uuid)
        const already = (now: WholeTaskRow) => ended(`Task already marked unsolvable: ${now.last_error ?? ''}`, now)
        if (task.status === 'unsolvable') return already(task)
        const answer = await markUnsolvable(parts, task, operatorOf(request), reason)
        const now = await reread(task)
        if (!answer.ok && now.status === 'unsolvable') return already(now)
        if (!answer.ok) return reply.code(409).send(refusalBody(answer, now))
        return ended(`Task marked unsolvable: ${reason}`, now)
      },
    )
  }
