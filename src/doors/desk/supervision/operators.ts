// GET /operators: figures of each operator (an operator sees their own), from the audit trail: how soon they claim, how long they take, what they give back or let
// lapse, and how often a solution of theirs was reported as bad.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import type { Desk } from '../desk.ts'
import { deskGuard, onlyOf, type GuardParts } from '../guard.ts'

// Times are rounded, not cast: a lock that is renewed again and again is held for more milliseconds than an integer holds.
const SELECT_FIGURES = `
  select operator,
         count(*) filter (where action = 'claimed')::integer as claimed,
         count(*) filter (where action = 'solved')::integer as solved,
         count(*) filter (where action = 'unsolvable')::integer as unsolvable,
         count(*) filter (where action = 'failed')::integer as failed,
         count(*) filter (where action = 'released')::integer as released,
         count(*) filter (where action = 'lapsed')::integer as lapsed,
         count(*) filter (where action = 'stolen')::integer as stolen,
         count(*) filter (where action = 'reported_bad')::integer as reported_bad,
         round(percentile_cont(0.5) within group (order by waited_ms) filter (where action = 'claimed')) as claim_ms_p50,
         round(percentile_cont(0.95) within group (order by waited_ms) filter (where action = 'claimed')) as claim_ms_p95,
         round(percentile_cont(0.5) within group (order by held_ms) filter (where action = 'solved')) as solve_ms_p50,
         round(percentile_cont(0.95) within group (order by held_ms) filter (where action = 'solved')) as solve_ms_p95
    from captcha_audit
   where at > statement_timestamp() - $1 * interval '1 hour' and operator is not null
     and ($2::text is null or operator = $2)
     and action in ('claimed', 'solved', 'unsolvable', 'failed', 'released', 'lapsed', 'stolen', 'reported_bad')
   group by operator order by operator limit 1000`

const HOURS_DEFAULT = 24

const Ms = Type.Union([Type.Integer(), Type.Null()])

const OperatorFigures = Type.Object({
  operator: Type.String(),
  claimed: Type.Integer(),
  solved: Type.Integer(),
  unsolvable: Type.Integer(),
  failed: Type.Integer(),
  released: Type.Integer(),
  lapsed: Type.Integer(),
  stolen: Type.Integer({ description: 'Locks that an admin took away.' }),
  reported_bad: Type.Integer(),
  claim_ms_p50: Ms,
  claim_ms_p95: Ms,
  solve_ms_p50: Ms,
  solve_ms_p95: Ms,
})

const OperatorsQuery = Type.Object({ hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 8760 })) })

export const operatorsRoute =
  (parts: GuardParts & Pick<Desk, 'database'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/api/v1/captcha/operators',
      {
        onRequest: deskGuard(parts, 'ADMIN', 'OPERATOR'),
        schema: {
          tags: ['desk'],
          security: SECURED,
          summary: `Figures of each operator in the last hours (default ${HOURS_DEFAULT}); to an operator their own.`,
          querystring: OperatorsQuery,
          response: {
            200: Type.Object({ hours: Type.Integer(), operators: Type.Array(OperatorFigures) }),
            ...refusals(401, 403, 422),
          },
        },
      },
      async (request) => {
        const { hours = HOURS_DEFAULT } = request.query
        const operators = await parts.database.query<Static<typeof OperatorFigures>>(SELECT_FIGURES, [
          hours,
          onlyOf(request),
        ])
        return { hours, operators }
      },
    )
  }
