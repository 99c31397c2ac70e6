// For admins: canaries, which are jobs with a known output. /admin/pool/canaries.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { RequirementsBody, requirementsFrom } from '../clients/new-job.ts'
import type { CanaryList } from './canary-list.ts'
import { invalidField, poolError } from '../errors.ts'
import { hashOutput } from '../results/output-hash.ts'
import { bodyTexts, documented, Id, JsonObject, orNull, RawJson, sendJson } from '../wire.ts'

const LIMIT_DEFAULT = 100

const NewCanaryBody = Type.Object(
  {
    payload: JsonObject,
    output: JsonObject,
    requirements: Type.Optional(orNull(RequirementsBody)),
  },
  { additionalProperties: false },
)
const Made = Type.Object({ canary_id: Type.Integer(), expected_hash: Type.String() })
const Listed = Type.Object({ canaries: Type.Array(Type.Unknown()) })
const Page = Type.Object({
  after: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: `Default ${LIMIT_DEFAULT}.` })),
})

export const canaryRoutes =
  (canaries: CanaryList): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/admin/pool/canaries',
      {
        schema: {
          ...documented,
          summary: 'Add a job with a known output. Each worker gets it at most once, in place of a real one.',
          body: NewCanaryBody,
          response: { 201: Made, ...refusals(401, 403, 409, 422) },
        },
      },
      async (request, reply) => {
        const answer = await canaries.add(await newCanaryOf(request))
        if (!answer.ok) throw poolError(answer.code)
        return reply.code(201).send({ canary_id: answer.canaryId, expected_hash: answer.expectedHash })
      },
    )

    app.get(
      '/admin/pool/canaries',
      {
        schema: {
          ...documented,
          summary: 'Canaries that are in use, with how many workers have met each.',
          querystring: Page,
          response: { 200: Listed, ...refusals(401, 403, 422) },
        },
      },
      async (request, reply) => {
        const { after = 0, limit = LIMIT_DEFAULT } = request.query
        const found = await canaries.list({ after, limit })
        return sendJson(reply, { canaries: found.map((one) => ({ ...one, payload: new RawJson(one.payload) })) })
      },
    )

    app.delete(
      '/admin/pool/canaries/:id',
      {
        schema: {
          ...documented,
          summary: 'Retire a canary: no worker gets it any more.',
          params: Type.Object({ id: Id }),
          response: { 204: Type.Null(), ...refusals(401, 403, 404) },
        },
      },
      async (request, reply) => {
        if (!(await canaries.retire(request.params.id))) throw poolError('canary_not_found')
        return reply.code(204).send(null)
      },
    )
  }

async function newCanaryOf(request: FastifyRequest<{ Body: Static<typeof NewCanaryBody> }>) {
  const texts = await bodyTexts(request)
  const expected = await hashOutput(texts.get('output') ?? 'null')
  if (!expected.ok) throw invalidField(['output'], expected.message)
  return {
    payload: texts.get('payload') ?? 'null',
    expectedHash: expected.hash,
    requirements: requirementsFrom(request.body.requirements ?? null),
    createdBy: accountOf(request).accountId,
  }
}
