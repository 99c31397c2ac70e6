// finalize: processing → done, once. Fenced by job, attempt, owner and unexpired lease. Changes that must happen once because
// the job finished are effects of this call and commit with it.
import type { Pool, Queryable } from '../db/database.ts'
import { storableJson } from '../db/params.ts'
import type { Ok, Refused } from '../values/outcome.ts'
import { effectsIfOk, transit, type WithEffects } from './effects.ts'
import type { Held } from './job.ts'
import { FENCE, HELD_ARRAYS, HELD_COLUMNS, heldColumns, okOrRefused, sorted, type HeldRefusal } from './refusal.ts'

const FINALIZE = `
  update jobs
     set state = 'done', result = asked.result, finished_at = clock_timestamp(), lease_until = null
    from rows from (unnest(${HELD_ARRAYS}), json_array_elements($4)) as asked (${HELD_COLUMNS}, result)
   where ${FENCE}
  returning jobs.job_id`

export interface FinalizeRequest extends Held, WithEffects {
  result: unknown
}

export type FinalizeAnswer = Ok | Refused<HeldRefusal>

export const finalize = (pool: Pool, requests: readonly FinalizeRequest[]): Promise<FinalizeAnswer[]> =>
  transit(pool, requests, (on) => statement(on, requests), effectsIfOk)

async function statement(on: Queryable, requests: readonly FinalizeRequest[]): Promise<FinalizeAnswer[]> {
  const asked = sorted(requests)
  const results = storableJson(asked.map(({ result }) => result ?? null))
  return okOrRefused(on, requests, await on.query<{ job_id: string }>(FINALIZE, [...heldColumns(asked), results]))
}
