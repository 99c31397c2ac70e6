// POST /callback/{challenge_id}: receives a Solver's result (section 7). It is checked by the challenge's rule and recorded
// once per request id; the first result is final. Nonce, result and audit row commit together.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { bodyHash } from '@reeve/sdk/challenge'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { storableText, type Database } from '../../../core/db/database.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import type { Threads } from '../bounded/threads.ts'
import { auditRefusal, openRecording, type CallbackResult } from './record-callback.ts'
import { openFinding, type AnswerKey } from './challenge-store.ts'
import { challengeError, REFUSALS } from '../errors.ts'
import {
  documentedOnly,
  isSupportedVersion,
  optionalText,
  readSignedBodies,
  nonceRefusal,
  type RequestVerifier,
  type VerifiedRequest,
} from '../signing/verify.ts'
import { isCorrect, parseRule } from './validation-rule.ts'

const REQUEST_ID = /^[\x21-\x7e]{1,255}$/
const STATUS_CHARS_MAX = 50
// Longer texts are cut: a result is not refused because of what describes it.
const JOB_ID_CHARS_MAX = 512
const ERROR_CODE_CHARS_MAX = 255
const ERROR_MESSAGE_CHARS_MAX = 10_000

const NullableText = Type.Union([Type.String(), Type.Null()])

const CallbackBody = Type.Object({
  api_version: Type.Optional(Type.Literal('v2.1')),
  challenge_id: Type.String(),
  solver_job_id: Type.Optional(NullableText),
  status: Type.String({ maxLength: STATUS_CHARS_MAX, description: 'success or failed.' }),
  answer: Type.Optional(NullableText),
  error_code: Type.Optional(NullableText),
  error_message: Type.Optional(NullableText),
  metadata: Type.Optional(Type.Unknown()),
})
const Received = Type.Object({ received: Type.Boolean(), challenge_id: Type.String(), duplicate: Type.Boolean() })

export interface CallbackDeps {
  database: Database
  verifier: RequestVerifier
  skewSec: number
  threads: Threads
}

export const callbackRoute =
  ({ database, verifier, skewSec, threads }: CallbackDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    readSignedBodies(app)
    const find = openFinding(database)
    const record = openRecording(database, skewSec)
    const summary = 'Receive a result. Signed with `Authorization: RCS-HMAC-SHA256 …`.'
    app.post(
      '/callback/:challenge_id',
      {
        validatorCompiler: documentedOnly,
        schema: {
          tags: ['challenge'],
          summary,
          params: Type.Object({ challenge_id: Type.String({ maxLength: 512 }) }),
          body: CallbackBody,
          response: { 200: Received, ...REFUSALS, 404: REFUSALS[400] },
        },
      },
      async (request) => {
        const verified = await verifier.verify(request)
        const callback = callbackOf(request, verified, request.params.challenge_id)
        const refuse = (error: HttpError) =>
          verifier.refuse(verified, error, (tx) => auditRefusal(tx, refusalOf(request, verified, error)))
        if (callback instanceof HttpError) return refuse(callback)
        const { challenge } = await find(request.params.challenge_id)
        if (challenge === null) return refuse(challengeError('CHALLENGE_NOT_FOUND'))

        const { isCorrect, rule } = await checkAnswer(challenge, callback, threads)
        const result = { isCorrect, rule, ...callback }
        const { verdict, outcome } = await record({ nonce: verified, result, bytes: verified.bodyBytes })
        if (verdict !== 'burnt') throw nonceRefusal(verdict)
        return { received: true, challenge_id: challenge.challenge_id, duplicate: outcome !== 'recorded' }
      },
    )
  }

type ReceivedCallback = Omit<CallbackResult, 'isCorrect' | 'rule'>

function callbackOf(
  request: FastifyRequest,
  { fields, bodyHash: hash }: VerifiedRequest,
  challengeId: string,
): ReceivedCallback | HttpError {
  if (fields instanceof HttpError) return fields
  const { api_version: version, challenge_id: named, status } = fields
  if (version !== undefined && version !== null && !isSupportedVersion(version)) {
    return challengeError('UNSUPPORTED_VERSION')
  }
  if (named === undefined || named === null || named === '') return challengeError('MISSING_CHALLENGE_ID')
  if (named !== challengeId) return challengeError('CHALLENGE_ID_MISMATCH')
  const answer = optionalText(fields['answer'])
  const solverJobId = optionalText(fields['solver_job_id'], JOB_ID_CHARS_MAX)
  const errorCode = optionalText(fields['error_code'], ERROR_CODE_CHARS_MAX)
  const errorMessage = optionalText(fields['error_message'], ERROR_MESSAGE_CHARS_MAX)
  if (typeof status !== 'string' || status.length > STATUS_CHARS_MAX) return challengeError('INVALID_CALLBACK')
  if (answer === undefined || solverJobId === undefined) return challengeError('INVALID_CALLBACK')
  if (errorCode === undefined || errorMessage === undefined) return challengeError('INVALID_CALLBACK')

  const given = request.headers['x-request-id']
  // Without a request id, the same result is the same request (clause 7.6).
  const requestId = given === undefined ? bodyHash(`${challengeId}\n${solverJobId ?? ''}\n${hash}`) : String(given)
  if (!REQUEST_ID.test(requestId)) return challengeError('INVALID_REQUEST_ID')
  const { metadata = null } = fields
  const headers = auditedHeaders(request)
  return {
    challengeId,
    requestId,
    solverJobId,
    status,
    answer,
    errorCode,
    errorMessage,
    metadata,
    bodyHash: hash,
    headers,
  }
}

const refusalOf = (
  request: FastifyRequest<{ Params: { challenge_id: string } }>,
  { bodyHash: hash }: VerifiedRequest,
  error: HttpError,
) => ({
  challengeId: request.params.challenge_id,
  requestId: request.id,
  headers: auditedHeaders(request),
  bodyHash: hash,
  statusCode: error.status,
})

/** Only the answer of a success is checked. */
async function checkAnswer(challenge: AnswerKey, { status, answer }: ReceivedCallback, threads: Threads) {
  const rule = parseRule(challenge.validation_rule)
  if (typeof rule === 'string') throw new Error('A stored validation rule cannot be parsed.')
  if (status !== 'success' || answer === null) return { isCorrect: null, rule: rule.type }
  return { isCorrect: await isCorrect(rule, challenge.answer, answer, threads), rule: rule.type }
}

/** Replaced by a mark: a reader of the audit could use them. */
const SECRET_HEADERS = new Set(['cookie', 'proxy-authorization', 'x-api-key', 'webhook-signature'])
const HEADER_CHARS_MAX = 1024

/** Every header but secrets. Of Authorization the signature is left out. */
function auditedHeaders({ headers, ip }: Pick<FastifyRequest, 'headers' | 'ip'>): Record<string, string> {
  const kept = Object.entries(headers).map(([name, value]) => [name, auditedValue(name, String(value))])
  return { ...Object.fromEntries(kept), 'x-remote-address': ip }
}

function auditedValue(name: string, value: string): string {
  if (SECRET_HEADERS.has(name)) return '…'
  const shown = name === 'authorization' ? value.replace(/sig=[^,]*/, 'sig=…') : value
  return storableText(shown, HEADER_CHARS_MAX)
}
