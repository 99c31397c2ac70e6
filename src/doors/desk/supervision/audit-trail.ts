// GET /audit: who did what and when. An operator sees what they did themselves.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Queryable } from '../../../core/db/database.ts'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { parseJobId } from '../../../core/ledger/job.ts'
import { ACTIONS, type Action } from '../changes/audit.ts'
import type { Desk } from '../desk.ts'
import { deskGuard, onlyOf, type GuardParts } from '../guard.ts'

const SELECT = `
  select audit_id, at, action, actor, uuid, domain, operator, detail, waited_ms, held_ms from captcha_audit`

const LIMIT_DEFAULT = 100

const AuditQuery = Type.Object({
  uuid: Type.Optional(Type.String({ maxLength: 100 })),
  actor: Type.Optional(Type.String({ maxLength: 200 })),
  action: Type.Optional(Type.Enum([...ACTIONS])),
  before: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: `Default ${LIMIT_DEFAULT}.` })),
})
const maybe = <S extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(schema: S) =>
  Type.Union([schema, Type.Null()])
const AuditEntry = Type.Object({
  audit_id: Type.Integer(),
  at: Type.String({ format: 'date-time' }),
  action: Type.String(),
  actor: Type.String(),
  uuid: maybe(Type.String()),
  domain: maybe(Type.String()),
  operator: maybe(Type.String()),
  detail: maybe(Type.String()),
  waited_ms: maybe(Type.Integer()),
  held_ms: maybe(Type.Integer()),
})
const AuditPage = Type.Object({ entries: Type.Array(AuditEntry), next_before: maybe(Type.Integer()) })

export const auditTrailRoute =
  (parts: GuardParts & Pick<Desk, 'database'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/api/v1/captcha/audit',
      {
        onRequest: deskGuard(parts, 'ADMIN', 'OPERATOR'),
        schema: {
          tags: ['desk'],
          security: SECURED,
          summary: 'Who did what and when, newest first; to an operator what they did themselves.',
          querystring: AuditQuery,
          response: { 200: AuditPage, ...refusals(401, 403, 422) },
        },
      },
      async (request) => {
        const { uuid: text, limit = LIMIT_DEFAULT, ...rest } = request.query
        const uuid = text === undefined ? undefined : (parseJobId(text) ?? null)
        const actor = onlyOf(request) ?? rest.actor
        const rows = uuid === null ? [] : await listAudit(parts.database, { ...rest, actor, uuid, limit: limit + 1 })
        const entries = rows.slice(0, limit).map(viewOf)
        return { entries, next_before: rows.length > limit ? (entries.at(-1)?.audit_id ?? null) : null }
      },
    )
  }

interface TrailRow {
  audit_id: string
  at: Date
  action: Action
  actor: string
  uuid: string | null
  domain: string | null
  operator: string | null
  detail: string | null
  waited_ms: string | null
  held_ms: string | null
}

interface AuditFilter {
  uuid?: string | undefined
  actor?: string | undefined
  action?: string | undefined
  before?: number | undefined
  limit: number
}

/** Written from the filters that are given, so that each can use its index. */
function listAudit(on: Queryable, { uuid, actor, action, before, limit }: AuditFilter): Promise<TrailRow[]> {
  const params: unknown[] = []
  const is = (expression: string, value: unknown) =>
    value === undefined ? [] : [`${expression} $${params.push(value)}`]
  const conditions = [
    ...is('uuid =', uuid),
    ...is('actor =', actor),
    ...is('action =', action),
    ...is('audit_id <', before),
  ]
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
  return on.query<TrailRow>(`${SELECT} ${where} order by audit_id desc limit $${params.push(limit)}`, params)
}

const viewOf = (row: TrailRow) => ({
  ...row,
  audit_id: Number(row.audit_id),
  at: row.at.toISOString(),
  waited_ms: row.waited_ms === null ? null : Number(row.waited_ms),
  held_ms: row.held_ms === null ? null : Number(row.held_ms),
})
