// POST /tasks/{uuid}/report-bad: the site refused the solution. Its session is deleted, and the operator's figures count it.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { sessionExpired } from '../changes/session-changes.ts'
import { reportedBad } from '../changes/task-changes.ts'
import type { Desk } from '../desk.ts'
import { conflict, taskNotFound } from '../errors.ts'
import { deskGuard, type GuardParts } from '../guard.ts'
import { deleteOfTask } from '../sessions/session-store.ts'
import { TaskPath } from '../tasks/read-tasks.ts'
import { isCreator } from '../tasks/task-view.ts'
import type { TaskRow } from '../tasks/task.ts'

const LOCK_UNREPORTED = `select uuid from captcha_task where uuid = $1 and reported_at is null for update`

const ReportBody = Type.Optional(Type.Object({ reason: Type.Optional(Type.String({ maxLength: 2000 })) }))
const Reported = Type.Object({ message: Type.String(), session_invalidated: Type.Boolean() })

export const reportBadRoute =
  (parts: GuardParts & Pick<Desk, 'tasks' | 'changes'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/api/v1/captcha/tasks/:uuid/report-bad',
      {
        onRequest: deskGuard(parts, 'SCRAPER'),
        schema: {
          tags: ['desk'],
          summary: 'Report that the site refused the solution of my task: its session is deleted.',
          security: SECURED,
          params: TaskPath,
          body: ReportBody,
          response: { 200: Reported, ...refusals(401, 403, 404, 409, 422) },
        },
      },
      async (request) => {
        const task = await parts.tasks.find(request.params.uuid)
        if (task === null || !isCreator(request, task)) throw taskNotFound()
        if (task.status !== 'solved') throw conflict(`Task is ${task.status}`)
        const reported = await reportBad(parts, task, accountOf(request).username, request.body?.reason)
        const message = reported.isFirst ? 'Solution reported as bad' : 'Solution already reported as bad'
        return { message, session_invalidated: reported.hadSession }
      },
    )
  }

/** Counted once, however often it is reported. */
export async function reportBad(
  { changes }: Pick<Desk, 'changes'>,
  task: TaskRow,
  actor: string,
  reason: string | null = null,
): Promise<{ isFirst: boolean; hadSession: boolean }> {
  let isFirst = false
  let hadSession = false
  await changes.transact(async (tx) => {
    isFirst = (await tx.query(LOCK_UNREPORTED, [task.uuid])).length > 0
    const deleted = await deleteOfTask(tx, task.uuid)
    hadSession = deleted.length > 0
    return [
      ...(isFirst ? [reportedBad(task, actor, reason)] : []),
      ...deleted.map((session) => sessionExpired(session, 'reported_bad')),
    ]
  })
  return { isFirst, hadSession }
}
