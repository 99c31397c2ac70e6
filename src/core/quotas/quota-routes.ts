// GET /auth/quotas: what the account has and may have.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { accountOf, requireAccount } from '../http/auth/guard.ts'
import { refusals } from '../http/errors/detail.ts'
import { SECURED } from '../http/routes/docs.ts'
import type { Identity } from '../identity/identity.ts'
import type { Quotas } from './quotas.ts'

const Use = Type.Object({
  name: Type.String({
    description: 'jobs_waiting, stored_bytes, workers, sockets, submissions_waiting or open_tasks.',
  }),
  used: Type.Integer(),
  max: Type.Integer(),
})

export const quotaRoutes =
  ({ identity, quotas }: { identity: Identity; quotas: Pick<Quotas, 'usedBy'> }): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/auth/quotas',
      {
        onRequest: requireAccount(identity),
        schema: {
          tags: ['accounts'],
          summary: 'Your quotas, and how much of each you use.',
          security: SECURED,
          response: { 200: Type.Object({ quotas: Type.Array(Use) }), ...refusals(401) },
        },
      },
      async (request) => ({ quotas: await quotas.usedBy(accountOf(request).accountId) }),
    )
  }
