// POST /submissions/{job_id}/rejudge: the same program again, by the package that is in force now. A verdict is recorded once,
// so this is a new submission of the same account, which names the old one.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Deps } from '../../../core/door.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { requireRole } from '../../../core/http/auth/guard.ts'
import { newJobId } from '../../../core/random.ts'
import { problem, REJUDGE_REFUSALS } from '../errors.ts'
import type { ProblemStore } from '../problems/problem-store.ts'
import { JUDGE_KIND } from '../settings.ts'
import { payloadFrom } from './payload.ts'
import { JobPath, submissionOf } from './read-status.ts'
import { submitted } from './submission-store.ts'

const Accepted = Type.Object({ job_id: Type.String(), status: Type.Literal('PENDING') })

export const rejudgeRoute =
  ({
    identity,
    ledger,
    problems,
  }: Pick<Deps, 'identity' | 'ledger'> & { problems: ProblemStore }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      tags: ['judge'],
      security: SECURED,
      summary: 'Judge a submission again, by the package that is in force now, as a new submission.',
      params: JobPath,
      response: { 202: Accepted, ...REJUDGE_REFUSALS },
    }
    const onRequest = requireRole(identity, 'ADMIN')

    app.post('/submissions/:job_id/rejudge', { schema, onRequest }, async (request, reply) => {
      const old = await submissionOf(ledger, request, request.params.job_id)
      const payload = payloadFrom(old.payload)
      const { accountId } = old
      if (payload === null || payload.input !== undefined || accountId === null) throw problem('submission_not_found')
      if (old.state !== 'done' && old.state !== 'dead') throw problem('not_finished')
      const { problem_id: problemId, language } = payload
      const found = await problems.get(problemId)
      if (found === null) throw problem('problem_not_found')

      const jobId = newJobId()
      await ledger.submit({
        kind: JUDGE_KIND,
        jobId,
        payload: { ...payload, package: found.packageSha256 },
        accountId,
        trace: request.trace,
        effects: [submitted({ jobId, accountId, problemId, language, rejudgeOf: old.jobId })],
      })
      return reply.code(202).send({ job_id: jobId, status: 'PENDING' })
    })
  }
