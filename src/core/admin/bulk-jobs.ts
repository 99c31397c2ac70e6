// POST /admin/jobs/bulk: cancels or replays the jobs that match, a page at a time. The answer says where to go on, so that whoever
// asks sees the progress, and may stop. Jobs that are submitted meanwhile are newer than the place, and are not touched.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { cancelJob, replayJob } from '../executor/endings.ts'
import { refusals } from '../http/errors/detail.ts'
import { SECURED } from '../http/routes/docs.ts'
import type { AdminDeps } from './admin-routes.ts'
import { JobFilterFields, searchOf } from './job-filter.ts'

const PAGE = 200

const Bulk = Type.Object(
  {
    action: Type.Union([Type.Literal('cancel'), Type.Literal('replay')]),
    filter: Type.Object(JobFilterFields, { additionalProperties: false }),
    reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'Of a cancel.' })),
  },
  { additionalProperties: false },
)
const Done = Type.Object({
  done: Type.Integer(),
  refused: Type.Integer({ description: 'Had ended already, or cannot be replayed.' }),
  next_before: Type.Union([Type.String(), Type.Null()], {
    description: '`before` in the filter of the next request; null: all are done.',
  }),
})

export const bulkRoute =
  ({ ledger, kinds }: AdminDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      tags: ['admin'],
      security: SECURED,
      summary: `Cancel or replay the jobs that match, ${PAGE} at a time.`,
      body: Bulk,
      response: { 200: Done, ...refusals(401, 403, 422) },
    }
    app.post('/admin/jobs/bulk', { schema }, async (request) => {
      const { action, filter, reason = 'cancelled by an admin' } = request.body
      const { jobs, next } = await ledger.search(searchOf(filter), PAGE)
      const act = (jobId: string) =>
        action === 'cancel' ? cancelJob(ledger, kinds, jobId, reason) : replayJob(ledger, kinds, jobId)
      const answers = await Promise.all(jobs.map(({ jobId }) => act(jobId)))
      const done = answers.filter((answer) => answer.ok).length
      return { done, refused: answers.length - done, next_before: next }
    })
  }
