// GET /figures: what is open now, and what came and ended hour by hour.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import type { Desk } from '../desk.ts'
import { deskGuard, type GuardParts } from '../guard.ts'
import { STATUS } from '../tasks/task.ts'

const SELECT_OPEN = `
  select count(*)::integer as open,
         count(*) filter (where ${STATUS} in ('pending', 'failed'))::integer as waiting,
         count(*) filter (where ${STATUS} in ('in_progress', 'solving'))::integer as claimed,
         count(*) filter (where t.overdue_at is not null)::integer as overdue,
         min(t.created_at) filter (where ${STATUS} in ('pending', 'failed')) as oldest_waiting_at
    from captcha_task t where t.ended_at is null`

const SELECT_HOURS = `
  select date_trunc('hour', at) as hour,
         count(*) filter (where action = 'created')::integer as created,
         count(*) filter (where action = 'solved')::integer as solved,
         count(*) filter (where action = 'unsolvable')::integer as unsolvable,
         count(*) filter (where action = 'expired')::integer as expired
    from captcha_audit
   where at > statement_timestamp() - $1 * interval '1 hour' and action in ('created', 'solved', 'unsolvable', 'expired')
   group by 1 order by 1`

const HOURS_DEFAULT = 24

const Hour = Type.Object({
  hour: Type.String({ format: 'date-time' }),
  created: Type.Integer(),
  solved: Type.Integer(),
  unsolvable: Type.Integer(),
  expired: Type.Integer(),
})
const Figures = Type.Object({
  open: Type.Integer(),
  waiting: Type.Integer(),
  claimed: Type.Integer(),
  overdue: Type.Integer({ description: 'Tasks that wait, or are held, for too long.' }),
  oldest_waiting_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  hours: Type.Array(Hour, { description: 'Hours in which something happened, the oldest first.' }),
})
const FiguresQuery = Type.Object({
  hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 744, description: `Default ${HOURS_DEFAULT}.` })),
})

interface OpenRow {
  open: number
  waiting: number
  claimed: number
  overdue: number
  oldest_waiting_at: Date | null
}

interface HourRow {
  hour: Date
  created: number
  solved: number
  unsolvable: number
  expired: number
}

export const figuresRoute =
  (parts: GuardParts & Pick<Desk, 'database'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/api/v1/captcha/figures',
      {
        onRequest: deskGuard(parts, 'ADMIN', 'OPERATOR'),
        schema: {
          tags: ['desk'],
          security: SECURED,
          summary: 'What is open now, and what came and ended in the last hours.',
          querystring: FiguresQuery,
          response: { 200: Figures, ...refusals(401, 403, 422) },
        },
      },
      async (request) => {
        const { hours = HOURS_DEFAULT } = request.query
        const [[open], ended] = await Promise.all([
          parts.database.query<OpenRow>(SELECT_OPEN),
          parts.database.query<HourRow>(SELECT_HOURS, [hours]),
        ])
        return {
          open: open?.open ?? 0,
          waiting: open?.waiting ?? 0,
          claimed: open?.claimed ?? 0,
          overdue: open?.overdue ?? 0,
          oldest_waiting_at: open?.oldest_waiting_at?.toISOString() ?? null,
          hours: ended.map((row) => ({ ...row, hour: row.hour.toISOString() })),
        }
      },
    )
  }
