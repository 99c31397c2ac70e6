// How the operators are doing, from the trail: how soon they claim, how long they take, what they give back or let lapse,
// and how often a solution of theirs was reported as bad.
import { Type, type Static } from 'typebox'
import type { Queryable } from '../../../core/db/database.ts'

// Times are rounded, not cast: a lock that is renewed again and again is held for more milliseconds than an integer holds.
const NUMBERS = `
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
     and action in ('claimed', 'solved', 'unsolvable', 'failed', 'released', 'lapsed', 'stolen', 'reported_bad')
   group by operator order by operator limit 1000`

const Ms = Type.Union([Type.Integer(), Type.Null()])

export const OperatorNumbers = Type.Object({
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

export const numbersOfOperators = (on: Queryable, hours: number) =>
  on.query<Static<typeof OperatorNumbers>>(NUMBERS, [hours])
