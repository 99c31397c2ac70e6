// For admins: canaries, jobs whose answer is known. /admin/pool/canaries.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { memberTexts } from '@reeve/sdk'
import type { FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import type { Deps } from '../../../core/door.ts'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf, requireRole } from '../../../core/http/auth/guard.ts'
import { openCanaryAdmin } from './canary-list.ts'
import type { Coordinator } from '../pool.ts'
import { invalidField, problem } from '../errors.ts'
import { hashOutput } from '../results/output-hash.ts'
import { Raw, sendJson } from '../raw.ts'
import { Id, JsonObject, orNull } from '../schemas.ts'

const LIMIT_DEFAULT = 100
const documented = { tags: ['pool'], security: SECURED }

const NewCanary = Type.Object(
  {
    payload: JsonObject,
    output: JsonObject,
    requirements: Type.Optional(
      orNull(
        Type.Object(
          {
            region: Type.Optional(orNull(Type.String({ minLength: 1, maxLength: 64 }))),
            specs: Type.Optional(orNull(JsonObject)),
          },
          { additionalProperties: false },
        ),
      ),
    ),
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
  (deps: Deps & { coordinator: Coordinator }): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.addHook('onRequest', requireRole(deps.identity, 'ADMIN'))
    const canaries = openCanaryAdmin(deps)

    app.post(
      '/admin/pool/canaries',
      {
        schema: {
          ...documented,
          summary: 'Add a job whose output is known. Each worker gets it at most once, in place of a real one.',
          body: NewCanary,
          response: { 201: Made, ...refusals(401, 403, 409, 422) },
        },
      },
      async (request, reply) => {
        const answer = await canaries.add(await newCanaryOf(request))
        if (!answer.ok) throw problem(answer.code)
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
        return sendJson(reply, { canaries: found.map((one) => ({ ...one, payload: new Raw(one.payload) })) })
      },
    )

    app.delete(
      '/admin/pool/canaries/:id',
      {
        schema: {
          ...documented,
          summary: 'Retire a canary: it is given to nobody any more.',
          params: Type.Object({ id: Id }),
          response: { 204: Type.Null(), ...refusals(401, 403, 404) },
        },
      },
      async (request, reply) => {
        if (!(await canaries.retire(request.params.id))) throw problem('canary_not_found')
        return reply.code(204).send(null)
      },
    )
  }

async function newCanaryOf(request: FastifyRequest<{ Body: Static<typeof NewCanary> }>) {
  const texts = memberTexts(String(request.rawBody))
  const expected = await hashOutput(texts.get('output') ?? 'null')
  if (!expected.ok) throw invalidField(['output'], expected.message)
  const { requirements } = request.body
  return {
    payload: texts.get('payload') ?? 'null',
    expectedHash: expected.hash,
    requirements: { region: requirements?.region ?? null, specs: requirements?.specs ?? null },
    createdBy: accountOf(request).accountId,
  }
}
