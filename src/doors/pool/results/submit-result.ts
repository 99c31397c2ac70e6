// POST /jobs/submit: the signed result of an assignment. The checks run in the order of docs/pool.md, section 5; the ledger
// decides last.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { decodeBase64url, isSignedBy, PUBLIC_KEY_BYTES, SIGNATURE_BYTES, signedText } from '@reeve/sdk/pool'
import type { FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { refused } from '../../../core/values/outcome.ts'
import { invalidField, poolError, type PoolCode } from '../errors.ts'
import type { PoolMetrics } from '../metrics.ts'
import { bodyTexts, documented, Id, JsonObject, orNull } from '../wire.ts'
import { acceptResult, type AcceptDeps, type SubmitResultAnswer } from './accept-result.ts'

const SIGNATURE_CHARS_MAX = 1024
const URI_CHARS_MAX = 2048
const METRICS_KEYS_MAX = 64
const METRICS_CHARS_MAX = 64 * 1024
const ERROR_CHARS_MAX = 64 * 1024
const CUT_MARK = ' [cut]'

const ResultBody = Type.Object({
  worker_id: Id,
  assignment_id: Id,
  nonce: Type.String({ minLength: 1, maxLength: 128 }),
  signature: Type.String({ maxLength: SIGNATURE_CHARS_MAX }),
  output: Type.Optional(orNull(JsonObject)),
  error_message: Type.Optional(
    orNull(Type.String({ description: `Cut and marked beyond ${ERROR_CHARS_MAX} characters.` })),
  ),
  artifact_uri: Type.Optional(orNull(Type.String({ maxLength: URI_CHARS_MAX }))),
  output_hash: Type.Optional(orNull(Type.String({ maxLength: 128 }))),
  metrics_json: Type.Optional(orNull(Type.Record(Type.String(), Type.Unknown(), { maxProperties: METRICS_KEYS_MAX }))),
})
const ResultReply = Type.Object({ assignment_id: Type.Integer(), status: Type.String(), finished_at: Type.String() })

export interface SubmittedResult {
  workerId: number
  ownerId: number
  assignmentId: number
  nonce: string
  signature: string
  /** JSON texts, as they were sent. */
  output: string | null
  metrics: string | null
  errorMessage: string | null
  artifactUri: string | null
  outputHash: string | null
}

export type SubmitResult = (result: SubmittedResult) => Promise<SubmitResultAnswer>

export const openSubmitResult =
  (deps: AcceptDeps): SubmitResult =>
  async (result) => {
    const found = await deps.results.read(result)
    if (found === null) return refused('worker_not_found')
    const signature = checkSignature(found.publicKey, result)
    if (!signature.ok) return signature
    const { assignment, now } = found
    if (assignment === null) return refused('assignment_not_found')
    if (assignment.nonce !== result.nonce) return refused('nonce_wrong')
    if (assignment.isSubmitted) return refused('already_submitted')
    return acceptResult(deps, result, { assignment, now, publicKey: signature.publicKey })
  }

function checkSignature(publicKey: string | null, result: SubmittedResult) {
  const refuse = (code: PoolCode) => refused(code)
  if (publicKey === null) return refuse('key_not_configured')
  const key = decodeBase64url(publicKey)
  if (key === null) return refuse('key_encoding')
  if (key.length !== PUBLIC_KEY_BYTES) return refuse('key_length')
  const signature = decodeBase64url(result.signature)
  if (signature === null) return refuse('signature_encoding')
  if (signature.length !== SIGNATURE_BYTES) return refuse('signature_length')
  const { assignmentId: assignment_id, nonce, outputHash: output_hash } = result
  const isSigned = isSignedBy(key, signature, signedText({ assignment_id, nonce, output_hash }))
  return isSigned ? { ok: true as const, publicKey } : refuse('signature_wrong')
}

export interface SubmitResultRouteDeps {
  submitResult: SubmitResult
  metrics: PoolMetrics
}

export const submitResultRoute =
  ({ submitResult, metrics }: SubmitResultRouteDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      ...documented,
      summary: 'The signed result of an assignment.',
      body: ResultBody,
      response: { 200: ResultReply, ...refusals(400, 401, 403, 404, 409, 422) },
    }
    app.post('/jobs/submit', { config: { passesJsonOn: true }, schema }, async (request) => {
      const answer = await submitResult(await resultFrom(request))
      metrics.submits.inc({ outcome: answer.ok ? answer.status : answer.code })
      if (answer.ok) {
        const { status, finishedAt } = answer
        return { assignment_id: request.body.assignment_id, status, finished_at: finishedAt }
      }
      throw answer.code === 'not_canonical' ? invalidField(['output'], answer.message) : poolError(answer.code)
    })
  }

async function resultFrom(request: FastifyRequest<{ Body: Static<typeof ResultBody> }>): Promise<SubmittedResult> {
  const { body } = request
  checkContent(body)
  const hasJson = isGiven(body.output) || isGiven(body.metrics_json)
  const texts = hasJson ? await bodyTexts(request) : new Map<string, string>()
  const metrics = isGiven(body.metrics_json) ? (texts.get('metrics_json') ?? null) : null
  if (metrics !== null && metrics.length > METRICS_CHARS_MAX) {
    throw invalidField(['metrics_json'], `must have at most ${METRICS_CHARS_MAX} characters`)
  }
  return {
    workerId: body.worker_id,
    ownerId: accountOf(request).accountId,
    assignmentId: body.assignment_id,
    nonce: body.nonce,
    signature: body.signature,
    output: isGiven(body.output) ? (texts.get('output') ?? null) : null,
    metrics,
    errorMessage: cut(body.error_message ?? null),
    artifactUri: body.artifact_uri ?? null,
    outputHash: body.output_hash ?? null,
  }
}

/** A result says what came of the job, and not two things at once. */
function checkContent({ output, error_message: error, artifact_uri: artifact }: Static<typeof ResultBody>): void {
  if (isGiven(output) && isGiven(error)) throw invalidField(['error_message'], 'must be null where output is given')
  if (!isGiven(output) && !isGiven(error) && !isGiven(artifact)) {
    throw invalidField(['output'], 'must be given, or error_message, or artifact_uri')
  }
}

const cut = (text: string | null): string | null =>
  text === null || text.length <= ERROR_CHARS_MAX
    ? text
    : `${text.slice(0, ERROR_CHARS_MAX - CUT_MARK.length).toWellFormed()}${CUT_MARK}`

const isGiven = (value: unknown): boolean => value !== undefined && value !== null
