// POST /problems/{problem_id}/run: a program on an input of its author's own, with the limits of a problem. It is a job like
// a submission, but no submission: lists and quotas do not show it.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Deps } from '../../../core/door.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf, requireAccount } from '../../../core/http/auth/guard.ts'
import { problem, SUBMIT_REFUSALS } from '../errors.ts'
import { JUDGE_KIND, type JudgeSettings } from '../settings.ts'
import { checkSubmission, CODE_BYTES_MAX, type CheckDeps } from './check-submission.ts'
import { messageOf, tooMany } from './submit.ts'

const INPUT_BYTES_MAX = CODE_BYTES_MAX

const ProblemPath = Type.Object({ problem_id: Type.String({ maxLength: 512 }) })
const OwnRun = Type.Object(
  {
    language: Type.String({ minLength: 1, maxLength: 100 }),
    code: Type.String({ description: 'At most 64 KB.' }),
    input: Type.String({ description: 'At most 64 KB.' }),
  },
  { additionalProperties: false },
)
const Accepted = Type.Object({ job_id: Type.String(), status: Type.Literal('PENDING') })

export interface RunDeps extends Pick<Deps, 'identity' | 'ledger'> {
  checking: CheckDeps
  settings: JudgeSettings
}

export const runRoute =
  ({ identity, ledger, checking, settings }: RunDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const limit = { max: settings.SUBMIT_RATE_LIMIT_MAX, windowSec: settings.SUBMIT_RATE_LIMIT_WINDOW }
    const schema = {
      tags: ['judge'],
      security: SECURED,
      summary: 'Run a program on an input of your own. `GET /status/{job_id}` has its output.',
      params: ProblemPath,
      body: OwnRun,
      response: { 202: Accepted, ...SUBMIT_REFUSALS },
    }

    app.post('/problems/:problem_id/run', { schema, onRequest: requireAccount(identity) }, async (request, reply) => {
      const { language, code, input } = request.body
      const { problem_id: problemId } = request.params
      const { accountId } = accountOf(request)
      if (Buffer.byteLength(input) > INPUT_BYTES_MAX) throw problem('input_too_large')
      const checked = await checkSubmission(checking, { problemId, language, code })
      if (!checked.ok) throw problem(checked.code, messageOf(checked))
      if (checked.isInteractive) throw problem('not_runnable')
      const rate = await identity.takeRate(`run:${accountId}`, limit)
      if (!rate.ok) throw tooMany(rate.retryAfterSec, settings)

      const payload = { ...checked.payload, input }
      const submitted = await ledger.submit({ kind: JUDGE_KIND, payload, accountId, trace: request.trace })
      if (!submitted.ok) throw new Error('A run has no idempotency key.')
      return reply.code(202).send({ job_id: submitted.jobId, status: 'PENDING' })
    })
  }
