// POST /submit: a program for a problem. Accepted means on disk; the verdict comes later.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Deps } from '../../core/door.ts'
import { SECURED } from '../../core/http/docs.ts'
import { accountOf, requireAccount } from '../../core/http/guard.ts'
import { idempotencyConflict, idempotencyOf } from '../../core/http/idempotency.ts'
import { HttpProblem, retryAfter } from '../../core/http/problem.ts'
import { newJobId } from '../../core/random.ts'
import { problem, SUBMIT_REFUSALS } from './errors.ts'
import type { Language } from './languages/language.ts'
import type { OfferedLanguages } from './offered-languages.ts'
import { JUDGE_KIND, type JudgePayload } from './payload.ts'
import type { ProblemStore, StoredProblem } from './problem-store.ts'
import type { JudgeSettings } from './settings.ts'
import { submitted } from './submission-store.ts'

const CODE_BYTES_MAX = 64 * 1024

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
  problems: ProblemStore
  languages: ReadonlyMap<string, Language>
  offered: OfferedLanguages
  settings: JudgeSettings
}

export const submitRoute =
  ({ identity, ledger, problems, languages, offered, settings }: SubmitDeps): FastifyPluginAsyncTypebox =>
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
      checkCode(code)
      if (!languages.has(language)) throw unsupported([...languages.keys()])
      const asked = await problems.get(problemId)
      if (asked === null) throw problem('problem_not_found')
      await checkLanguage(language, asked, offered)
      const rate = await identity.takeRate(`submit:${accountId}`, limit)
      if (!rate.ok) throw tooMany(rate.retryAfterSec, settings)

      const jobId = newJobId()
      const payload: JudgePayload = { problem_id: problemId, package: asked.packageSha256, language, code }
      const answer = await ledger.submit({
        kind: JUDGE_KIND,
        jobId,
        payload,
        accountId,
        traceId: request.traceId,
        idempotency,
        effects: [submitted({ jobId, accountId, problemId, language })],
      })
      if (!answer.ok) throw idempotencyConflict()
      return reply.code(202).send({ job_id: answer.jobId, status: 'PENDING' })
    })
  }

function checkCode(code: string): void {
  if (Buffer.byteLength(code) > CODE_BYTES_MAX) throw problem('code_too_large')
  if (code.trim() === '') throw problem('code_empty')
}

async function checkLanguage(language: string, { about }: StoredProblem, offered: OfferedLanguages): Promise<void> {
  if (about.languages !== null && !about.languages.includes(language)) throw unsupported(about.languages)
  const available = await offered.read()
  if (available !== null && !available.has(language)) throw unsupported([...available.keys()])
}

const unsupported = (known: readonly string[]): HttpProblem =>
  problem('unsupported_language', `language must be one of ${known.join(', ')}.`)

function tooMany(seconds: number, { SUBMIT_RATE_LIMIT_MAX: max, SUBMIT_RATE_LIMIT_WINDOW: window }: JudgeSettings) {
  const message = `At most ${max} submissions in ${window} seconds: try again in ${seconds} seconds.`
  return new HttpProblem(429, 'rate_limited', message, { headers: retryAfter(seconds) })
}
