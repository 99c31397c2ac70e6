// POST /v1/jobs/{id}/cancel: ends a job that has not ended, with all its replicas.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { cancelJob, type Kinds } from '../../../core/executor/endings.ts'
import { refusals } from '../../../core/http/errors/detail.ts'
import type { EndAnswer } from '../../../core/ledger/end.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { poolError } from '../errors.ts'
import type { Quorums } from '../quorum/settle.ts'
import { CANCELLED } from '../tasks/kinds.ts'
import { documented } from '../wire.ts'
import { JobBrief, JobPath, ownJob } from './job-view.ts'

export type CancelPoolJob = (jobId: string, reason: string) => Promise<EndAnswer>

export const openCancel =
  ({ ledger, kinds, quorums }: { ledger: Ledger; kinds: Kinds; quorums: Quorums }): CancelPoolJob =>
  async (jobId, reason) => {
    const answer = await cancelJob(ledger, kinds, jobId, reason)
    await quorums.settle(jobId) // does nothing for a plain job
    return answer
  }

export const cancelJobRoute =
  ({ ledger, cancel }: { ledger: Ledger; cancel: CancelPoolJob }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      ...documented,
      summary: 'End a job of mine that has not ended.',
      params: JobPath,
      response: { 200: JobBrief, ...refusals(401, 403, 404, 409) },
    }
    app.post('/v1/jobs/:id/cancel', { schema }, async (request) => {
      const { job } = await ownJob(ledger, request)
      const answer = await cancel(job.jobId, CANCELLED)
      if (!answer.ok) throw poolError(answer.code === 'unknown_job' ? 'job_not_found' : 'job_ended')
      return { job_id: job.jobId, status: 'cancelled' }
    })
  }
