// GET /status/{job_id}: the state of a submission, visible to its owner and admins.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Deps } from '../../../core/door.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf, requireAccount } from '../../../core/http/auth/guard.ts'
import { preferredWaitMs, waitSignal } from '../../../core/http/request/prefer.ts'
import { isEnded } from '../../../core/ledger/ended.ts'
import { parseJobId, type Job } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { LOOKUP_REFUSALS, problem } from '../errors.ts'
import { SubmissionView, viewOf, type ViewOptions } from './submission-view.ts'
import { JUDGE_KIND } from '../settings.ts'

export const JobPath = Type.Object({ job_id: Type.String({ maxLength: 512 }) })
const Query = Type.Object({ code: Type.Optional(Type.Boolean({ description: 'With the code that was submitted.' })) })

export interface StatusDeps extends Pick<Deps, 'identity' | 'ledger'> {
  isAnnounced: ViewOptions['isAnnounced']
}

export const statusRoute =
  ({ identity, ledger, isAnnounced }: StatusDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const summary = 'What has become of a submission. `Prefer: wait=N` (at most 50) waits for the verdict.'
    const schema = {
      tags: ['judge'],
      security: SECURED,
      summary,
      params: JobPath,
      querystring: Query,
      response: { 200: SubmissionView, ...LOOKUP_REFUSALS },
    }

    app.get('/status/:job_id', { schema, onRequest: requireAccount(identity) }, async (request, reply) => {
      const found = await submissionOf(ledger, request, request.params.job_id)
      const timeoutMs = preferredWaitMs(request)
      if (timeoutMs > 0) reply.header('preference-applied', `wait=${timeoutMs / 1000}`)
      const limits = () => ({ timeoutMs, signal: waitSignal(request, reply), isFresh: true }) // it was read just now
      const job = timeoutMs === 0 || isEnded(found) ? found : await ledger.awaitEnd(found.jobId, limits())
      return viewOf(job ?? found, { isAnnounced, withCode: request.query.code === true })
    })
  }

/** Throws 404 if it is not a submission, or not visible to the caller. */
export async function submissionOf(ledger: Ledger, request: FastifyRequest, text: string): Promise<Job> {
  const { accountId, roles } = accountOf(request)
  const jobId = parseJobId(text)
  const job = jobId === null ? null : await ledger.get(jobId)
  const isTheirs = job?.accountId === accountId || roles.includes('ADMIN')
  if (job === null || job.kind !== JUDGE_KIND || !isTheirs) throw problem('submission_not_found')
  return job
}
