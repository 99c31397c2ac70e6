// POST /challenges: creates a challenge (section 6). Its answer and rule are never sent.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Database } from '../../../core/db/database.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf, requireRole } from '../../../core/http/auth/guard.ts'
import { hashBodyInTurns, idempotencyConflict, idempotencyOf } from '../../../core/http/request/idempotency.ts'
import { sendInTurns } from '../../../core/http/send-json.ts'
import type { Identity } from '../../../core/identity/identity.ts'
import type { Quota } from '../../../core/quotas/quota.ts'
import { assertQuota, type Quotas } from '../../../core/quotas/quotas.ts'
import { newJobId } from '../../../core/random.ts'
import type { Threads } from '../bounded/threads.ts'
import { ChallengeView, viewOf } from './challenge-schema.ts'
import { findSame, insertChallenge, type ChallengeRow, type ChallengeToStore } from './challenge-store.ts'
import { constraintsOf } from '../solver/constraints.ts'
import { CREATE_REFUSALS, challengeError } from '../errors.ts'
import { ANSWER_CHARS_MAX } from '../problems/solution.ts'
import { parseRule, problemWithRule } from './validation-rule.ts'

const NewChallengeBody = Type.Object(
  {
    // Unescaped in a path, and not the name of a sibling route.
    challenge_id: Type.Optional(Type.String({ pattern: '^(?!deliveries$)[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,127}$' })),
    problem: Type.Object({ type: Type.String({ minLength: 1, maxLength: 100 }) }, { additionalProperties: true }),
    output_spec: Type.Optional(Type.Unknown()),
    validation_rule: Type.Unknown(),
    answer: Type.String({ maxLength: ANSWER_CHARS_MAX }),
    constraints: Type.Optional(Type.Unknown()),
  },
  { additionalProperties: false },
)

export const createChallengeRoute =
  ({
    database,
    identity,
    quotas,
    threads,
  }: {
    database: Database
    identity: Identity
    quotas: Pick<Quotas, 'stored'>
    threads: Threads
  }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const summary = 'Create a challenge. Its answer and its rule never leave this server.'
    app.post(
      '/challenges',
      {
        onRequest: requireRole(identity, 'CHALLENGER', 'ADMIN'),
        schema: {
          tags: ['challenge'],
          summary,
          security: SECURED,
          body: NewChallengeBody,
          response: { 201: ChallengeView, ...CREATE_REFUSALS },
        },
      },
      async (request, reply) => {
        const { body, rawBody } = request
        const bytes = rawBody?.length ?? 0
        const rule = parseRule(body.validation_rule)
        if (typeof rule === 'string') throw challengeError('INVALID_VALIDATION_RULE', rule)
        const wrong = await problemWithRule(rule, body.answer, threads)
        if (wrong !== null) throw challengeError('INVALID_VALIDATION_RULE', wrong)
        if (constraintsOf(body.constraints) === null) throw challengeError('INVALID_CONSTRAINTS')

        const row = await createOnce(database, quotas.stored, {
          challengeId: body.challenge_id ?? newJobId(),
          accountId: accountOf(request).accountId,
          problem: body.problem,
          outputSpec: body.output_spec,
          constraints: body.constraints,
          validationRule: body.validation_rule,
          answer: body.answer,
          idempotencyKey: idempotencyOf(request, 'challenge')?.key ?? null,
          bodyHash: await hashBodyInTurns(body, bytes),
          bytes,
        })
        return sendInTurns(reply.code(201), viewOf(row), row.bytes)
      },
    )
  }

async function createOnce(database: Database, stored: Quota, challenge: ChallengeToStore): Promise<ChallengeRow> {
  const known = await findKnown(database, challenge)
  if (known !== null) return known
  assertQuota(await stored.take(challenge.accountId, challenge.bytes))
  await insertChallenge(database, challenge) // or a simultaneous request did
  const created = await findKnown(database, challenge)
  if (created === null) throw new Error('A challenge that was inserted is not there.')
  return created
}

/** The same owner, body, and id or key name the same challenge. Null: id and key are new. */
async function findKnown(database: Database, challenge: ChallengeToStore): Promise<ChallengeRow | null> {
  const same = await findSame(database, challenge)
  const mine = same.filter((row) => Number(row.account_id) === challenge.accountId)
  const keyed = mine.find((row) => row.idempotency_key !== null && row.idempotency_key === challenge.idempotencyKey)
  if (keyed !== undefined && keyed.body_hash !== challenge.bodyHash) throw idempotencyConflict()
  const found = keyed ?? mine.find((row) => row.body_hash === challenge.bodyHash)
  if (found === undefined && same.length > 0) throw challengeError('CHALLENGE_EXISTS')
  return found ?? null
}
