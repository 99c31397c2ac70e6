// POST /submit: a program for a problem. Accepted means on disk; the verdict comes later.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { Deps } from '../../../core/door.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf, requireAccount } from '../../../core/http/auth/guard.ts'
import { idempotencyConflict, idempotencyOf } from '../../../core/http/request/idempotency.ts'
import { HttpError, retryAfter } from '../../../core/http/errors/http-error.ts'
import type { Submitted } from '../../../core/ledger/submit/submit.ts'
import { assertQuota } from '../../../core/quotas/quotas.ts'
import type { Quota } from '../../../core/quotas/quota.ts'
import { newJobId } from '../../../core/random.ts'
import { checkSubmission, type CheckDeps } from './check-submission.ts'
import { problem, SUBMIT_REFUSALS } from '../errors.ts'
import { JUDGE_KIND, type JudgeSettings } from '../settings.ts'
import { submitted } from './submission-store.ts'

const Submission = Type.Object(
  {
    problem_id: Type.String({ minLength: 1, maxLength: 100 }),
    language: Type.String({ minLength: 1, maxLength: 100 }),
    code: Type.String({ description: 'At most 64 KB.' }),
  },
  { additionalProperties: false },
)
const Accepted = Type.Object({ job_id: Type.String(), status: Type.Literal('PENDING') })

export interface SubmitDeps extends Pick<Deps, 'identity' | 'ledger'> {
  checking: CheckDeps
  /** Submissions without a verdict. */
  waiting: Quota
  settings: JudgeSettings
}

export const submitRoute =
  ({ identity, ledger, checking, waiting, settings }: SubmitDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const limit = { max: settings.SUBMIT_RATE_LIMIT_MAX, windowSec: settings.SUBMIT_RATE_LIMIT_WINDOW }
    const summary = 'Submit a program. `Idempotency-Key`: the same key and body name the same submission.'
    const schema = {
      tags: ['judge'],
      security: SECURED,
      summary,
      body: Submission,
      response: { 202: Accepted, ...SUBMIT_REFUSALS },
    }

    app.post('/submit', { schema, onRequest: requireAccount(identity) }, async (request, reply) => {
      const { problem_id: problemId, language, code } = request.body
      const { accountId } = accountOf(request)
      const idempotency = idempotencyOf(request, 'judge')
      const before = idempotency === null ? null : await ledger.findNamed(idempotency)
      if (before !== null) return answer(reply, before) // a repeat costs nothing
      const checked = await checkSubmission(checking, { problemId, language, code })
      if (!checked.ok) throw problem(checked.code, messageOf(checked))
      const rate = await identity.takeRate(`submit:${accountId}`, limit)
      if (!rate.ok) throw tooMany(rate.retryAfterSec, settings)
      assertQuota(await waiting.take(accountId))

      const jobId = newJobId()
      const submittedNow = await ledger.submit({
        kind: JUDGE_KIND,
        jobId,
        payload: checked.payload,
        accountId,
        trace: request.trace,
        idempotency,
        effects: [submitted({ jobId, accountId, problemId, language })],
      })
      return answer(reply, submittedNow)
    })
  }

function answer(reply: FastifyReply, submitted: Submitted) {
  if (!submitted.ok) throw idempotencyConflict()
  return reply.code(202).send({ job_id: submitted.jobId, status: 'PENDING' })
}

export const messageOf = ({ known }: { known?: readonly string[] }): string | undefined =>
  known === undefined ? undefined : `language must be one of ${known.join(', ')}.`

export function tooMany(
  seconds: number,
  { SUBMIT_RATE_LIMIT_MAX: max, SUBMIT_RATE_LIMIT_WINDOW: window }: JudgeSettings,
) {
  const message = `At most ${max} submissions in ${window} seconds: try again in ${seconds} seconds.`
  return new HttpError(429, 'rate_limited', message, { headers: retryAfter(seconds) })
}
