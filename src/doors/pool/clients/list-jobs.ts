// GET /v1/jobs: a client's jobs, newest first.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Database } from '../../../core/db/database.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { refusals } from '../../../core/http/errors/detail.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { POOL_KIND, QUORUM_KIND } from '../tasks/payload.ts'
import { documented, orNull, timestampOf } from '../wire.ts'
import { statusOf } from './job-view.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 100

const ListedJob = Type.Object({
  job_id: Type.String(),
  status: Type.String(),
  priority: Type.Integer(),
  created_at: Type.String(),
})
const JobListReply = Type.Object({
  jobs: Type.Array(ListedJob, {
    description: 'May be fewer than asked for although there are more: see next_before.',
  }),
  next_before: orNull(Type.String({ description: '`before` of the next page. Null: this is the last one.' })),
})
const JobListQuery = Type.Object({
  before: Type.Optional(Type.String({ format: 'uuid', description: 'A job id: the page continues after it.' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX, description: `Default ${LIMIT_DEFAULT}.` })),
})

export const listJobsRoute =
  ({ ledger, database }: { ledger: Ledger; database: Database }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      ...documented,
      summary: 'My jobs, newest first.',
      querystring: JobListQuery,
      response: { 200: JobListReply, ...refusals(401, 403, 422) },
    }
    app.get('/v1/jobs', { schema }, async (request) => {
      const { accountId } = accountOf(request)
      const { before, limit = LIMIT_DEFAULT } = request.query
      // Bounded, however few of all jobs are this client's.
      const { jobs: found, next } = await ledger.search({ accountId, before }, limit)
      const ofPool = found.filter(({ kind }) => kind === POOL_KIND || kind === QUORUM_KIND)
      const results = await ledger.results(ofPool.map(({ jobId }) => jobId))
      const jobs = await Promise.all(
        ofPool.map(async (job) => ({
          job_id: job.jobId,
          status: await statusOf(database, { ...job, result: results.get(job.jobId) }),
          priority: job.priority,
          created_at: timestampOf(job.submittedAt),
        })),
      )
      return { jobs, next_before: next }
    })
  }
