// POST /solve: accepts a challenge to solve (section 3). Accepted means on disk; the answer is sent by callback.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyBaseLogger } from 'fastify'
import { Type } from 'typebox'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import { isCallableUrl } from '../../../core/outbound/callback-url.ts'
import { constraintsOf } from './constraints.ts'
import { challengeError, REFUSALS } from '../errors.ts'
import {
  documentedOnly,
  isSupportedVersion,
  readSignedBodies,
  nonceRefusal,
  type RequestVerifier,
  type VerifiedRequest,
} from '../signing/verify.ts'
import type { ResendCallback } from './resend-callback.ts'
import { solverJobId, type SolvePayload, type SolveStore } from './accept.ts'

const CHALLENGE_ID_CHARS_MAX = 255

const SolveBody = Type.Object({
  api_version: Type.Literal('v2.1'),
  challenge_id: Type.String({ minLength: 1, maxLength: CHALLENGE_ID_CHARS_MAX }),
  problem: Type.Object({ type: Type.String() }, { additionalProperties: true }),
  output_spec: Type.Optional(Type.Unknown()),
  constraints: Type.Optional(
    Type.Object({ timeout_ms: Type.Optional(Type.Number()), deadline_ts: Type.Optional(Type.Number()) }),
  ),
  callback_url: Type.String({ maxLength: 2048 }),
})
const Accepted = Type.Object({ message: Type.String(), solver_job_id: Type.String() })

export interface SolveDeps {
  verifier: RequestVerifier
  store: SolveStore
  resendCallback: ResendCallback
  allowInsecure: boolean
}

export const solveRoute =
  ({ verifier, store, resendCallback, allowInsecure }: SolveDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    readSignedBodies(app)
    const summary = 'Accept a challenge to solve. Signed with `Authorization: RCS-HMAC-SHA256 …`.'
    app.post(
      '/solve',
      {
        validatorCompiler: documentedOnly,
        schema: { tags: ['challenge'], summary, body: SolveBody, response: { 202: Accepted, ...REFUSALS } },
      },
      async (request, reply) => {
        const verified = await verifier.verify(request)
        const payload = payloadOf(verified, allowInsecure)
        if (payload instanceof HttpError) return verifier.refuse(verified, payload)

        const { bodyBytes: bytes } = verified
        const { verdict, isNew } = await store.accept({ nonce: verified, payload, bytes, trace: request.trace })
        if (verdict !== 'burnt') throw nonceRefusal(verdict)
        if (!isNew) await askedAgain(resendCallback, payload.challenge_id, request.log)
        const message = isNew ? 'Challenge accepted' : 'Challenge already accepted'
        return reply.code(202).send({ message, solver_job_id: solverJobId(payload.challenge_id) })
      },
    )
  }

/** The request is already answered with 202, and its nonce burnt: a failure here is logged. */
async function askedAgain(resend: ResendCallback, challengeId: string, log: FastifyBaseLogger): Promise<void> {
  try {
    await resend(challengeId)
  } catch (error) {
    log.error({ err: error, challenge_id: challengeId }, 'could not queue a callback again')
  }
}

/** The checks of clause 3.2, in its order. */
function payloadOf({ fields }: VerifiedRequest, allowInsecure: boolean): SolvePayload | HttpError {
  if (fields instanceof HttpError) return fields
  if (!isSupportedVersion(fields['api_version'])) return challengeError('UNSUPPORTED_VERSION')
  const { challenge_id: id, callback_url: url } = fields
  if (id === undefined || id === null || id === '') return challengeError('MISSING_CHALLENGE_ID')
  if (typeof id !== 'string' || id.length > CHALLENGE_ID_CHARS_MAX) return challengeError('INVALID_CHALLENGE_ID')
  if (!isCallableUrl(url, allowInsecure)) return challengeError('INVALID_CALLBACK_URL')
  const constraints = constraintsOf(fields['constraints'])
  if (constraints === null) return challengeError('INVALID_CONSTRAINTS')
  const { problem = null, output_spec: outputSpec = null } = fields
  return { challenge_id: id, problem, output_spec: outputSpec, constraints, callback_url: url }
}
