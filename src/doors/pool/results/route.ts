// POST /jobs/submit: the signed result of an assignment. What is checked, and in which order: submit-result.ts.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { memberTexts } from '@reeve/sdk'
import type { FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import type { Coordinator } from '../pool.ts'
import { invalidField, problem } from '../errors.ts'
import { Id, JsonObject, orNull } from '../schemas.ts'
import type { Submission } from './submit-result.ts'

const Result = Type.Object({
  worker_id: Id,
  assignment_id: Id,
  nonce: Type.String({ minLength: 1, maxLength: 128 }),
  signature: Type.String(),
  output: Type.Optional(orNull(JsonObject)),
  error_message: Type.Optional(orNull(Type.String())),
  artifact_uri: Type.Optional(orNull(Type.String())),
  output_hash: Type.Optional(orNull(Type.String({ maxLength: 128 }))),
  metrics_json: Type.Optional(orNull(JsonObject)),
})
const Submitted = Type.Object({ assignment_id: Type.Integer(), status: Type.String(), finished_at: Type.String() })

export const submitRoute =
  (coordinator: Coordinator): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/jobs/submit',
      {
        schema: {
          tags: ['pool'],
          summary: 'The signed result of an assignment.',
          security: SECURED,
          body: Result,
          response: { 200: Submitted, ...refusals(400, 401, 403, 404, 409, 422) },
        },
      },
      async (request) => {
        const answer = await coordinator.submit(submissionOf(request))
        coordinator.metrics.submits.inc({ outcome: answer.ok ? answer.status : answer.code })
        if (answer.ok) {
          const { status, finishedAt } = answer
          return { assignment_id: request.body.assignment_id, status, finished_at: finishedAt }
        }
        throw answer.code === 'not_canonical' ? invalidField(['output'], answer.message) : problem(answer.code)
      },
    )
  }

function submissionOf(request: FastifyRequest<{ Body: Static<typeof Result> }>): Submission {
  const { body } = request
  const hasJson = isGiven(body.output) || isGiven(body.metrics_json)
  const texts = hasJson ? memberTexts(String(request.rawBody)) : new Map<string, string>()
  return {
    workerId: body.worker_id,
    ownerId: accountOf(request).accountId,
    assignmentId: body.assignment_id,
    nonce: body.nonce,
    signature: body.signature,
    output: isGiven(body.output) ? (texts.get('output') ?? null) : null,
    metrics: isGiven(body.metrics_json) ? (texts.get('metrics_json') ?? null) : null,
    errorMessage: body.error_message ?? null,
    artifactUri: body.artifact_uri ?? null,
    outputHash: body.output_hash ?? null,
  }
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null
