// POST /tasks/{uuid}/report-bad: the site did not take the solution. Its session is thrown away, and the operator's numbers
// know of it. POST /tasks/{uuid}/reveal: somebody else than the creator looks at a solution, and leaves a line about it.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { sendEffects } from '../../../core/ledger/effects.ts'
import { audit, auditEffect } from '../changes/audit.ts'
import { afterOwnCommit, eventEffects, type Desk } from '../desk.ts'
import { conflict, forbidden, taskNotFound } from '../errors.ts'
import { told } from '../changes/events.ts'
import { actorOf, deskGuard, has, operatorGuard } from '../guard.ts'
import { openSolution } from './open-solution.ts'
import { findVisible, TaskPath } from '../tasks/read-tasks.ts'
import { deleteOfTask } from '../sessions/session-store.ts'
import type { TaskRow } from '../tasks/task.ts'
import { isCreator } from '../tasks/task-view.ts'

const MARK = `update captcha_task set reported_at = clock_timestamp() where uuid = $1 and reported_at is null returning uuid`

const ReportBody = Type.Optional(Type.Object({ reason: Type.Optional(Type.String({ maxLength: 2000 })) }))
const Reported = Type.Object({ message: Type.String(), session_invalidated: Type.Boolean() })
const RevealBody = Type.Object({ reason: Type.String({ minLength: 1, maxLength: 2000 }) })
const Revealed = Type.Object({
  uuid: Type.String(),
  type: Type.String(),
  payload: Type.Unknown(),
  user_agent: Type.Union([Type.String(), Type.Null()]),
  notes: Type.Union([Type.String(), Type.Null()]),
})

export const reportRoute =
  (desk: Desk): FastifyPluginAsyncTypebox =>
  async (app) => {
    const secured = { tags: ['desk'], security: SECURED, params: TaskPath }

    app.post(
      '/api/v1/captcha/tasks/:uuid/report-bad',
      {
        onRequest: deskGuard(desk, 'SCRAPER'),
        schema: {
          ...secured,
          summary: 'The site did not take the solution of my task: its session is thrown away.',
          body: ReportBody,
          response: { 200: Reported, ...refusals(401, 403, 404, 409, 422) },
        },
      },
      async (request) => {
        const task = await desk.tasks.find(request.params.uuid)
        if (task === null || !isCreator(request, task)) throw taskNotFound()
        if (task.status !== 'solved') throw conflict(`Task is ${task.status}`)
        const { isFirst, hadSession } = await reportBad(desk, task, accountOf(request).username, request.body?.reason)
        const message = isFirst ? 'Solution reported as bad' : 'Solution already reported as bad'
        return { message, session_invalidated: hadSession }
      },
    )

    app.post(
      '/api/v1/captcha/tasks/:uuid/reveal',
      {
        onRequest: operatorGuard(desk, 'OPERATOR', 'ADMIN'),
        schema: {
          ...secured,
          summary: 'Look at a solution: any, for an admin; their own, for an operator. It is written down.',
          body: RevealBody,
          response: { 200: Revealed, ...refusals(401, 403, 404, 409, 422, 429) },
        },
      },
      async (request) => {
        const task = await findVisible(desk, request, request.params.uuid)
        const isSolver = task.assigned_to === accountOf(request).username
        if (!has(request, 'ADMIN') && !isSolver) throw forbidden('Only an admin may look at the solution of another')
        const solution = openSolution(desk.sealer, task)
        if (solution === null) throw conflict('There is no solution to show')
        await audit(desk.database, {
          action: 'revealed',
          actor: actorOf(request),
          uuid: task.uuid,
          detail: request.body.reason,
        })
        const { type, payload, user_agent: userAgent, notes } = solution
        return { uuid: task.uuid, type, payload, user_agent: userAgent, notes }
      },
    )
  }

/** Counted once, however often it is said. */
export async function reportBad(desk: Desk, task: TaskRow, actor: string, reason?: string) {
  const { isFirst, events } = await desk.database.transaction(async (tx) => {
    const marked = await tx.query(MARK, [task.uuid])
    const gone = await deleteOfTask(tx, task.uuid)
    const events = gone.map((one) => told.sessionExpired(Number(one.account_id), one.domain, 'reported_bad'))
    const line = auditEffect({ action: 'reported_bad', actor, uuid: task.uuid, detail: reason ?? null })
    sendEffects(tx, [...(marked.length === 0 ? [] : [line]), ...eventEffects(desk, events)])
    return { isFirst: marked.length > 0, events }
  })
  afterOwnCommit(desk, events)
  if (events.length > 0) desk.mirror.forgotten(task.domain)
  if (isFirst) desk.counts.tasks.inc({ outcome: 'reported_bad' })
  return { isFirst, hadSession: events.length > 0 }
}
