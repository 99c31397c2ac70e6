// POST /tasks/{uuid}/solve and /mark-unsolvable: an operator ends a task. The solution is the result of the task's job: the first one
// stays. A task that nobody has claimed is claimed and ended at once.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import { LockedBody, refusalBody } from '../locks/refusal.ts'
import { markUnsolvable, solve, type EndParts } from './end.ts'
import { operatorGuard, operatorOf, type GuardParts } from '../guard.ts'
import { findVisible, TaskPath } from '../tasks/read-tasks.ts'
import { parseSolution, SolutionBody } from './solution.ts'
import type { WholeTaskRow } from '../tasks/task.ts'
import { operatorView, TaskDetail } from '../tasks/task-view.ts'

const Solved = Type.Object({
  message: Type.String(),
  task: TaskDetail,
  session_cached: Type.Boolean(),
  session_ttl: Type.Union([Type.Integer(), Type.Null()]),
})
const Marked = Type.Object({ message: Type.String(), task: TaskDetail })
const UnsolvableBody = Type.Object({ reason: Type.String({ minLength: 1, maxLength: 2000 }) })

export const solveRoute =
  (parts: GuardParts & EndParts): FastifyPluginAsyncTypebox =>
  async (app) => {
    const onRequest = operatorGuard(parts, 'OPERATOR')
    const secured = { tags: ['desk'], security: SECURED, params: TaskPath }
    const refused = { 409: LockedBody, ...refusals(401, 403, 404, 422, 429) }
    const reread = async (task: WholeTaskRow) => (await parts.tasks.find(task.uuid)) ?? task

    app.post(
      '/api/v1/captcha/tasks/:uuid/solve',
      {
        onRequest,
        schema: {
          ...secured,
          summary: 'Submit a solution.',
          body: SolutionBody,
          response: { 200: Solved, ...refused },
        },
      },
      async (request, reply) => {
        const task = await findVisible(parts.tasks, request, request.params.uuid)
        const alreadySolved = (now: WholeTaskRow) => ({
          message: 'Task already solved',
          task: operatorView(now),
          session_cached: false,
          session_ttl: null,
        })
        if (task.status === 'solved') return alreadySolved(task)
        const parsed = parseSolution(request.body, task, parts.settings)
        if (parsed instanceof HttpError) throw parsed
        const answer = await solve(parts, task, operatorOf(request), parsed)
        const now = await reread(task)
        if (!answer.ok && now.status === 'solved') return alreadySolved(now)
        if (!answer.ok) return reply.code(409).send(refusalBody(answer, now))
        const ttlSec = parsed.session?.ttlSec ?? null
        return { message: 'Task solved', task: operatorView(now), session_cached: ttlSec !== null, session_ttl: ttlSec }
      },
    )

    const unsolvable = { ...secured, summary: 'Mark a task as unsolvable.', body: UnsolvableBody }
    app.post(
      '/api/v1/captcha/tasks/:uuid/mark-unsolvable',
      { onRequest, schema: { ...unsolvable, response: { 200: Marked, ...refused } } },
      async (request, reply) => {
        const task = await findVisible(parts.tasks, request, request.params.uuid)
        const alreadyMarked = (now: WholeTaskRow) => ({
          message: 'Task already marked unsolvable',
          task: operatorView(now),
        })
        if (task.status === 'unsolvable') return alreadyMarked(task)
        const answer = await markUnsolvable(parts, task, operatorOf(request), request.body.reason)
        const now = await reread(task)
        if (!answer.ok && now.status === 'unsolvable') return alreadyMarked(now)
        if (!answer.ok) return reply.code(409).send(refusalBody(answer, now))
        return { message: 'Task marked unsolvable', task: operatorView(now) }
      },
    )
  }
