// GET /admin/jobs: all jobs of all doors, searched. GET /admin/jobs/count: how many match.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../http/errors/detail.ts'
import { SECURED } from '../http/routes/docs.ts'
import { COUNT_MAX } from '../ledger/search.ts'
import type { AdminDeps } from './admin-routes.ts'
import { JobFilterFields, searchOf } from './job-filter.ts'
import { JobSummary, summaryOf } from './job-schema.ts'

const LIMIT_DEFAULT = 50

const Filter = Type.Object({
  ...JobFilterFields,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: `Default ${LIMIT_DEFAULT}.` })),
})
const Listed = Type.Object({
  jobs: Type.Array(JobSummary, {
    description: 'May be fewer than asked for although there are more: see next_before.',
  }),
  next_before: Type.Union([Type.String(), Type.Null()], { description: '`before` of the next page; null: the last.' }),
})
const Counted = Type.Object({
  count: Type.Integer({ description: `At most ${COUNT_MAX}.` }),
  exact: Type.Boolean({ description: 'False: there are more, or there may be.' }),
})

export const searchRoutes =
  ({ ledger }: AdminDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const secured = { tags: ['admin'], security: SECURED }
    app.get(
      '/admin/jobs',
      {
        schema: {
          ...secured,
          summary: 'Search jobs, newest first.',
          querystring: Filter,
          response: { 200: Listed, ...refusals(401, 403, 422) },
        },
      },
      async (request) => {
        const { limit = LIMIT_DEFAULT, ...filter } = request.query
        const { jobs, next } = await ledger.search(searchOf(filter), limit)
        return { jobs: jobs.map(summaryOf), next_before: next }
      },
    )

    app.get(
      '/admin/jobs/count',
      {
        schema: {
          ...secured,
          summary: 'Count the jobs that match, exactly up to a limit.',
          querystring: Type.Object(JobFilterFields),
          response: { 200: Counted, ...refusals(401, 403, 422) },
        },
      },
      async (request) => {
        const { count, isExact } = await ledger.countMatching(searchOf(request.query))
        return { count, exact: isExact }
      },
    )
  }
