// finalize: processing → done, once. Fenced by job, attempt, owner and unexpired lease. Changes that must happen once because
// the job finished are effects of this call and commit with it.
import type { Pool, Queryable } from '../db/database.ts'
import { storableJson, uuidsParam } from '../db/params.ts'
import { ok, type Ok, type Refused } from '../values/outcome.ts'
import { effectsIfOk, transit, type WithEffects } from './effects.ts'
import type { Held } from './job.ts'
import {
  fence,
  FENCE,
  HELD_ARRAYS,
  HELD_COLUMNS,
  heldColumns,
  okOrRefused,
  sorted,
  type HeldRefusal,
} from './refusal.ts'

// One row answers for all jobs: sending and reading an id for each would cost as much as the update. The ids are gathered only where some
// are missing.
const finalizeWhere = (result: string, rows: string): string => `
  with done as (
    update jobs
       set state = 'done', result = ${result}, finished_at = clock_timestamp(), lease_until = null
     ${rows}
    returning jobs.job_id
  )
  select case when (select count(*) from done) < cardinality($1::uuid[])
              then (select coalesce(array_agg(job_id)::text[], '{}') from done) end as only_these`

const FINALIZE = finalizeWhere(
  'asked.result',
  `from rows from (unnest(${HELD_ARRAYS}), json_array_elements($4)) as asked (${HELD_COLUMNS}, result)
     where ${FENCE}`,
)

// For jobs that differ in nothing but their ids, as most do that return nothing: one scan of the index, in its order, where a join
// would begin one for each job. PostgreSQL sorts the ids for it.
const FINALIZE_ALIKE = finalizeWhere('$4', `where jobs.job_id = any($1::uuid[]) and ${fence('$2', '$3')}`)

export interface FinalizeRequest extends Held, WithEffects {
  result: unknown
}

export type FinalizeAnswer = Ok | Refused<HeldRefusal>

export const finalize = (pool: Pool, requests: readonly FinalizeRequest[]): Promise<FinalizeAnswer[]> =>
  transit(pool, requests, (on) => finalizeOn(on, requests), effectsIfOk)

/** The same as a statement of the caller's own transaction. Its effects are the caller's to send. */
export async function finalizeOn(on: Queryable, requests: readonly FinalizeRequest[]): Promise<FinalizeAnswer[]> {
  const [answer] = await updateHeld(on, requests)
  if (answer === undefined) throw new Error('The statement that finalizes jobs returned no row.')
  const { only_these: applied } = answer
  if (applied === null) return requests.map(() => ok)
  return okOrRefused(
    on,
    requests,
    applied.map((jobId) => ({ job_id: jobId })),
  )
}

function updateHeld(on: Queryable, requests: readonly FinalizeRequest[]): Promise<{ only_these: string[] | null }[]> {
  const [first] = requests
  if (first !== undefined && requests.every((request) => isAlike(request, first))) {
    const jobIds = uuidsParam(requests.map(({ jobId }) => jobId))
    return on.query(FINALIZE_ALIKE, [jobIds, first.attemptId, first.owner, storableJson(first.result ?? null)])
  }
  const asked = sorted(requests)
  const results = storableJson(asked.map(({ result }) => result ?? null))
  return on.query(FINALIZE, [...heldColumns(asked), results])
}

const isAlike = (a: FinalizeRequest, b: FinalizeRequest): boolean =>
  a.attemptId === b.attemptId && a.owner === b.owner && a.result === b.result
