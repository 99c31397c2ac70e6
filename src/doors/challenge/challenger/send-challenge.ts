// POST /challenges/{id}/send: sends the challenge, without its answer and rule, to a Solver. The request is queued in the
// outbox, so that it survives a restart and is retried; its attempts are listed with the challenge.
import { isObject } from '../../../core/values/is-object.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { storableText, type Tx } from '../../../core/db/database.ts'
import type { Deps } from '../../../core/door.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf, requireRole } from '../../../core/http/auth/guard.ts'
import { hashBody, idempotencyConflict, idempotencyOf } from '../../../core/http/request/idempotency.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { Idempotency } from '../../../core/ledger/submit/submit.ts'
import { isCallableUrl, withoutTrailingSlashes } from '../../../core/outbound/callback-url.ts'
import type { SignedRequest } from '../../../core/deliveries/signed-request.ts'
import type { OutboundAnswer } from '../../../core/outbound/outbound.ts'
import { newJobId } from '../../../core/random.ts'
import type { ChallengeRow } from './challenge-store.ts'
import { SEND_TOPIC } from '../deliveries/topics.ts'
import { CREATE_REFUSALS, challengeError } from '../errors.ts'
import { ownChallenge } from './read-challenges.ts'
import type { ChallengeSettings } from '../settings.ts'

const MARK_SENDING = `
  update challenges set state = case when state = 'completed' then state else 'sending' end, sent_at = clock_timestamp()
   where challenge_id = $1`

const MARK_ACCEPTED = `
  update challenges set solver_job_id = $2, state = case when state = 'completed' then state else 'accepted' end
   where challenge_id = $1`

const MARK_FAILED = `update challenges set state = 'send_failed' where challenge_id = $1 and state = 'sending'`

const SOLVER_URL_CHARS_MAX = 2000
const JOB_ID_CHARS_MAX = 512

const Send = Type.Optional(
  Type.Object({ solver_url: Type.Optional(Type.String({ maxLength: 4096 })) }, { additionalProperties: false }),
)
const Sending = Type.Object({ challenge_id: Type.String(), state: Type.String(), request_id: Type.String() })

export type SendDeps = Pick<Deps, 'database' | 'ledger' | 'identity' | 'config' | 'deliveries' | 'outbox'>

export const sendChallengeRoute =
  (
    { database, ledger, identity, config, deliveries, outbox }: SendDeps,
    settings: ChallengeSettings,
  ): FastifyPluginAsyncTypebox =>
  async (app) => {
    const callbackHost = settings.PUBLIC_CALLBACK_HOST || config.PUBLIC_URL
    const summary = 'Send a challenge to a Solver, signed. Retried until it is accepted or all attempts have failed.'
    app.post(
      '/challenges/:id/send',
      {
        onRequest: requireRole(identity, 'CHALLENGER', 'ADMIN'),
        schema: {
          tags: ['challenge'],
          summary,
          security: SECURED,
          params: Type.Object({ id: Type.String({ maxLength: 512 }) }),
          body: Send,
          response: { 202: Sending, ...CREATE_REFUSALS },
        },
      },
      async (request, reply) => {
        const row = await ownChallenge(database, request.params.id, accountOf(request).accountId)
        const target = targetOf(request.body?.solver_url, settings)
        if (callbackHost === '') throw challengeError('CALLBACK_HOST_NOT_SET')

        const signed: SignedRequest = {
          subject: row.challenge_id,
          accountId: null,
          url: `${withoutTrailingSlashes(target.url)}/solve`,
          requestId: newJobId(),
          body: JSON.stringify(solveRequest(row, callbackHost)),
          isTrusted: target.isTrusted,
        }
        const idempotency = idempotencyOf(request, 'challenge-send')
        const requestId = await database.transaction(async (tx) => {
          const first = await firstRequestId(ledger, tx, signed, idempotency)
          if (first !== signed.requestId) return first
          await tx.query(MARK_SENDING, [row.challenge_id])
          await deliveries.addIn(tx, SEND_TOPIC, signed, request.trace)
          return first
        })
        outbox.wake()
        return reply.code(202).send({ challenge_id: row.challenge_id, state: 'sending', request_id: requestId })
      },
    )
  }

/** The request id that this Idempotency-Key named first, or the new one. The key belongs to the challenge and the body. */
async function firstRequestId(
  ledger: Pick<Ledger, 'nameIn'>,
  tx: Tx,
  { subject, requestId }: SignedRequest,
  idempotency: Idempotency | null,
): Promise<string> {
  if (idempotency === null) return requestId
  const bodyHash = hashBody({ challenge_id: subject, body: idempotency.bodyHash })
  const named = await ledger.nameIn(tx, { ...idempotency, bodyHash }, requestId)
  if (!named.ok) throw idempotencyConflict()
  return named.jobId
}

function targetOf(given: string | undefined, settings: ChallengeSettings): { url: string; isTrusted: boolean } {
  if (given === undefined) {
    if (settings.SOLVER_URL === '') throw challengeError('MISSING_SOLVER_URL')
    return { url: settings.SOLVER_URL, isTrusted: true } // the deployment's owner chose it
  }
  const isShort = given.length <= SOLVER_URL_CHARS_MAX
  const isPlain = isShort && !/[?#]/.test(given) && isCallableUrl(given, settings.ALLOW_INSECURE_CALLBACKS)
  if (!isPlain) throw challengeError('INVALID_SOLVER_URL')
  return { url: given, isTrusted: false }
}

/** The body of /solve: neither the answer nor the rule. */
function solveRequest(row: ChallengeRow, callbackHost: string): object {
  const host = /^https?:\/\//.test(callbackHost) ? callbackHost : `https://${callbackHost}`
  return {
    api_version: 'v2.1',
    challenge_id: row.challenge_id,
    problem: row.problem,
    output_spec: row.output_spec,
    constraints: row.constraints,
    callback_url: `${withoutTrailingSlashes(host)}/callback/${encodeURIComponent(row.challenge_id)}`,
  }
}

/** Records the outcome of a send with its challenge. */
export const noteSent =
  ({ database }: Pick<Deps, 'database'>) =>
  async ({ subject: challengeId }: SignedRequest, answer: OutboundAnswer | null): Promise<void> => {
    if (answer === null) await database.query(MARK_FAILED, [challengeId])
    else await database.query(MARK_ACCEPTED, [challengeId, jobIdFrom(answer.body)])
  }

/** The Solver's job id, if its answer has one that can be stored. */
function jobIdFrom(body: Buffer): string | null {
  try {
    const answer: unknown = JSON.parse(body.toString())
    const jobId = isObject(answer) ? answer['solver_job_id'] : null
    return typeof jobId === 'string' ? storableText(jobId, JOB_ID_CHARS_MAX) : null
  } catch {
    return null
  }
}
