// release: processing → pending, unharmed: the holder gives the job back (a drain, an operator who steps away). The attempt
// is kept in the history and does not count towards max_attempts. The job keeps its place in the order.
import type { Pool, Queryable } from '../database.ts'
import type { Ok, Refused } from '../outcome.ts'
import { effectsIfOk, transit, type WithEffects } from './effects.ts'
import type { Held } from './job.ts'
import { FENCE, HELD_COLUMNS, heldRow, okOrRefused, sortedJson, type HeldRefusal } from './refusal.ts'

const RELEASE = `
  with moved as (
    update jobs set state = 'pending', lease_until = null, releases = jobs.releases + 1
      from json_to_recordset($1) as asked (${HELD_COLUMNS})
     where ${FENCE}
    returning jobs.job_id, jobs.attempt_id, jobs.lease_owner, jobs.started_at
  ), ended as (
    insert into attempts (job_id, attempt_id, owner, started_at, outcome)
    select job_id, attempt_id, lease_owner, started_at, 'released' from moved
  )
  select job_id from moved`

export interface ReleaseRequest extends Held, WithEffects {}

export type ReleaseAnswer = Ok | Refused<HeldRefusal>

export const release = (pool: Pool, requests: readonly ReleaseRequest[]): Promise<ReleaseAnswer[]> =>
  transit(pool, requests, (on) => statement(on, requests), effectsIfOk)

const statement = async (on: Queryable, requests: readonly ReleaseRequest[]): Promise<ReleaseAnswer[]> =>
  okOrRefused(on, requests, await on.query<{ job_id: string }>(RELEASE, [sortedJson(requests.map(heldRow))]))
