// /admin/audit: the audit trail of all accounts.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { requireRole } from '../http/auth/guard.ts'
import { refusals } from '../http/errors/detail.ts'
import { SECURED } from '../http/routes/docs.ts'
import type { AuditEvent } from '../identity/audit.ts'
import type { Identity } from '../identity/identity.ts'

const LIMIT_DEFAULT = 100
const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

const Filter = Type.Object({
  account_id: Type.Optional(Id),
  before: Type.Optional(Id),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: `Default ${LIMIT_DEFAULT}.` })),
})
const AuditView = Type.Object({
  id: Type.Integer(),
  account_id: Type.Integer(),
  username: Type.Union([Type.String(), Type.Null()], { description: 'Null: the account is gone.' }),
  actor_id: Type.Union([Type.Integer(), Type.Null()], { description: 'Null: the account itself, or the server.' }),
  actor: Type.Union([Type.String(), Type.Null()], { description: 'The name of `actor_id`.' }),
  event: Type.String(),
  detail: Type.Unknown(),
  address: Type.String(),
  created_at: Type.String({ format: 'date-time' }),
})
const Listed = Type.Object({
  events: Type.Array(AuditView),
  next_before: Type.Union([Type.Integer(), Type.Null()], { description: '`before` of the next page; null: the last.' }),
})

export const auditRoute =
  ({ identity }: { identity: Identity }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      tags: ['admin'],
      security: SECURED,
      summary: 'Sign-ins, changes of accounts and use of API keys, newest first.',
      querystring: Filter,
      response: { 200: Listed, ...refusals(401, 403, 422) },
    }
    app.get('/admin/audit', { onRequest: requireRole(identity, 'ADMIN'), schema }, async (request) => {
      const { account_id: accountId = null, before = Number.MAX_SAFE_INTEGER, limit = LIMIT_DEFAULT } = request.query
      const events = await identity.listAudit({ accountId, before, limit: limit + 1 })
      const page = events.slice(0, limit)
      return { events: page.map(onWire), next_before: events.length > limit ? (page.at(-1)?.auditId ?? null) : null }
    })
  }

const onWire = (entry: AuditEvent) => ({
  id: entry.auditId,
  account_id: entry.accountId,
  username: entry.username,
  actor_id: entry.actorId,
  actor: entry.actor,
  event: entry.event,
  detail: entry.detail,
  address: entry.address,
  created_at: entry.createdAt.toISOString(),
})
