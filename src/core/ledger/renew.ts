// renew: extends the lease of a running attempt. It changes no indexed column, so it costs a fraction of the other transitions.
import type { Pool, Queryable } from '../db/database.ts'
import type { Ok, Refused } from '../values/outcome.ts'
import { effectsIfOk, transit, type WithEffects } from './effects.ts'
import type { Held } from './job.ts'
import { FENCE, HELD_ARRAYS, HELD_COLUMNS, heldColumns, okOrRefused, sorted, type HeldRefusal } from './refusal.ts'

const RENEW = `
  update jobs set lease_until = clock_timestamp() + asked.lease_ms * interval '1 ms'
    from unnest(${HELD_ARRAYS}, $4::integer[]) as asked (${HELD_COLUMNS}, lease_ms)
   where ${FENCE}
  returning jobs.job_id`

export interface RenewRequest extends Held, WithEffects {
  leaseMs: number
}

export type RenewAnswer = Ok | Refused<HeldRefusal>

export const renew = (pool: Pool, requests: readonly RenewRequest[]): Promise<RenewAnswer[]> =>
  transit(pool, requests, (on) => renewOn(on, requests), effectsIfOk)

async function renewOn(on: Queryable, requests: readonly RenewRequest[]): Promise<RenewAnswer[]> {
  const asked = sorted(requests)
  const leases = asked.map(({ leaseMs }) => leaseMs)
  return okOrRefused(on, requests, await on.query<{ job_id: string }>(RENEW, [...heldColumns(asked), leases]))
}
