// GET /challenges and GET /challenges/{id}: the caller's challenges, with their results and deliveries.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Database } from '../../../core/db/database.ts'
import type { Deliveries } from '../../../core/deliveries/deliveries.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf, requireRole } from '../../../core/http/auth/guard.ts'
import { sendInTurns } from '../../../core/http/send-json.ts'
import type { Identity } from '../../../core/identity/identity.ts'
import { ChallengeStory, ChallengeView, viewOf } from './challenge-schema.ts'
import { findChallenge, listChallenges, storyOf, type ChallengeRow } from './challenge-store.ts'
import { OWNER_REFUSALS, challengeError } from '../errors.ts'

const LIMIT_DEFAULT = 50

const Page = Type.Object({
  challenges: Type.Array(ChallengeView),
  next_before: Type.Union([Type.Integer(), Type.Null()], { description: '`before` of the next page; null: the last.' }),
})
const Filter = Type.Object({
  before: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: `Default ${LIMIT_DEFAULT}.` })),
})
const ChallengePath = Type.Object({ id: Type.String({ maxLength: 512 }) })

export interface ReadDeps {
  database: Database
  deliveries: Pick<Deliveries, 'attempts'>
  identity: Identity
}

export const readChallengesRoute =
  ({ database, deliveries, identity }: ReadDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const onRequest = requireRole(identity, 'CHALLENGER', 'ADMIN')
    const documented = { tags: ['challenge'], security: SECURED }

    app.get(
      '/challenges',
      {
        onRequest,
        schema: {
          ...documented,
          summary: 'Your challenges, newest first.',
          querystring: Filter,
          response: { 200: Page, ...OWNER_REFUSALS },
        },
      },
      async (request, reply) => {
        const { before = null, limit = LIMIT_DEFAULT } = request.query
        const { accountId } = accountOf(request)
        const { rows, hasMore } = await listChallenges(database, { accountId, before, limit })
        const page = { challenges: rows.map(viewOf), next_before: hasMore ? Number(rows.at(-1)?.seq ?? 0) : null }
        return sendInTurns(reply, page, sum(rows.map((row) => row.bytes)))
      },
    )

    app.get(
      '/challenges/:id',
      {
        onRequest,
        schema: {
          ...documented,
          summary: 'One challenge with its results, deliveries and callbacks.',
          params: ChallengePath,
          response: { 200: ChallengeStory, ...OWNER_REFUSALS },
        },
      },
      async (request, reply) => {
        const row = await ownChallenge(database, request.params.id, accountOf(request).accountId)
        const story = await storyOf(database, deliveries, row.challenge_id)
        const bytes = row.bytes + sum(story.results.map(({ answer }) => answer?.length ?? 0))
        return sendInTurns(reply, { ...viewOf(row), ...story }, bytes)
      },
    )
  }

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

/** Another account's challenge is reported as not found. */
export async function ownChallenge(database: Database, challengeId: string, accountId: number): Promise<ChallengeRow> {
  const row = await findChallenge(database, challengeId)
  if (row === null || Number(row.account_id) !== accountId) throw challengeError('CHALLENGE_NOT_FOUND')
  return row
}
