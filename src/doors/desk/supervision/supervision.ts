// For those who run the desk: the trail, the numbers of each operator, and the cleaning up of what has expired.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { parseJobId } from '../../../core/ledger/job.ts'
import { audit, ACTIONS, listAudit, type AuditRow } from '../changes/audit.ts'
import { cleanUp } from './clean-up.ts'
import type { Desk } from '../desk.ts'
import { actorOf, deskGuard } from '../guard.ts'
import { numbersOfOperators, OperatorNumbers } from './operators.ts'

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
const Line = Type.Object({
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
const OperatorsQuery = Type.Object({ hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 8760 })) })
const Cleaned = Type.Object({ expired_count: Type.Integer(), message: Type.String() })

export const supervisionRoute =
  (desk: Desk): FastifyPluginAsyncTypebox =>
  async (app) => {
    const onRequest = deskGuard(desk, 'ADMIN')
    const secured = { tags: ['desk'], security: SECURED }

    app.get(
      '/api/v1/captcha/audit',
      {
        onRequest,
        schema: {
          ...secured,
          summary: 'Who did what and when, newest first.',
          querystring: AuditQuery,
          response: {
            200: Type.Object({ entries: Type.Array(Line), next_before: maybe(Type.Integer()) }),
            ...refusals(401, 403, 422),
          },
        },
      },
      async (request) => {
        const { uuid: text, limit = LIMIT_DEFAULT, ...rest } = request.query
        const uuid = text === undefined ? undefined : (parseJobId(text) ?? null)
        const rows = uuid === null ? [] : await listAudit(desk.database, { ...rest, uuid, limit: limit + 1 })
        const entries = rows.slice(0, limit).map(viewOf)
        return { entries, next_before: rows.length > limit ? (entries.at(-1)?.audit_id ?? null) : null }
      },
    )

    app.get(
      '/api/v1/captcha/operators',
      {
        onRequest,
        schema: {
          ...secured,
          summary: 'The numbers of each operator in the last hours (24, unless said otherwise).',
          querystring: OperatorsQuery,
          response: {
            200: Type.Object({ hours: Type.Integer(), operators: Type.Array(OperatorNumbers) }),
            ...refusals(401, 403, 422),
          },
        },
      },
      async (request) => {
        const { hours = 24 } = request.query
        return { hours, operators: await numbersOfOperators(desk.database, hours) }
      },
    )

    app.delete(
      '/api/v1/captcha/expired',
      {
        onRequest,
        schema: {
          ...secured,
          summary: 'Expire what is overdue, and clean up after all that has expired.',
          response: { 200: Cleaned, ...refusals(401, 403) },
        },
      },
      async (request) => {
        const count = await cleanUp(desk)
        await audit(desk.database, { action: 'cleaned_up', actor: actorOf(request), detail: `${count}` })
        return { expired_count: count, message: `${count} expired ${count === 1 ? 'task' : 'tasks'} cleaned up` }
      },
    )
  }

const viewOf = (row: AuditRow) => ({
  ...row,
  audit_id: Number(row.audit_id),
  at: row.at.toISOString(),
  waited_ms: row.waited_ms === null ? null : Number(row.waited_ms),
  held_ms: row.held_ms === null ? null : Number(row.held_ms),
})
