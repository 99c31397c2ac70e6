// GET /v1/jobs/{id}: a job with its result.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { preferredWaitMs, waitSignal } from '../../../core/http/request/prefer.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { documented, sendJson } from '../wire.ts'
import { JobPath, JobView, ownJob, viewOf, type JobViewDeps } from './job-view.ts'

export const readJobRoute =
  ({ ledger, ...views }: JobViewDeps & { ledger: Ledger }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      ...documented,
      summary: 'One job of mine with its result. `Prefer: wait=N` (at most 50) waits for its end.',
      params: JobPath,
      response: { 200: JobView, ...refusals(401, 403, 404) },
    }
    app.get('/v1/jobs/:id', { schema }, async (request, reply) => {
      const found = await ownJob(ledger, request)
      const timeoutMs = preferredWaitMs(request)
      if (timeoutMs === 0) return sendJson(reply, await viewOf(views, found))
      reply.header('preference-applied', `wait=${timeoutMs / 1000}`)
      const job = await ledger.awaitEnd(found.job.jobId, { timeoutMs, signal: waitSignal(request, reply) })
      return sendJson(reply, await viewOf(views, { ...found, job: job ?? found.job }))
    })
  }
