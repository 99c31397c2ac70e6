// release: processing → pending. The holder gives the job back (a drain, an operator who steps away, a job that waits for
// another one). The attempt is kept in the history and does not count towards max_attempts. The job keeps its place
// in the order.
import { storableText, type Pool, type Queryable } from '../db/database.ts'
import type { Ok, Refused } from '../values/outcome.ts'
import { effectsIfOk, transit, type WithEffects } from './effects.ts'
import type { Held } from './job.ts'
import { FENCE, HELD_ARRAYS, HELD_COLUMNS, heldColumns, okOrRefused, sorted, type HeldRefusal } from './refusal.ts'

const RELEASE = `
  with moved as (
    update jobs
       set state = 'pending', lease_until = null, releases = jobs.releases + 1,
           due_at = case when asked.delay_ms > 0 then clock_timestamp() + asked.delay_ms * interval '1 ms' end
      from unnest(${HELD_ARRAYS}, $4::bigint[], $5::text[]) as asked (${HELD_COLUMNS}, delay_ms, note)
     where ${FENCE}
    returning jobs.job_id, jobs.attempt_id, jobs.lease_owner, jobs.started_at, asked.note
  ), ended as (
    insert into attempts (job_id, attempt_id, owner, started_at, outcome, error)
    select job_id, attempt_id, lease_owner, started_at, 'released', note from moved
  )
  select job_id from moved`

const NOTE_CHARS_MAX = 1000

export interface ReleaseRequest extends Held, WithEffects {
  /** Time until the job is ready again, unless `promote` makes it ready earlier. Default: none. */
  delayMs?: number
  /** Why it was released, for the history. */
  note?: string
}

export type ReleaseAnswer = Ok | Refused<HeldRefusal>

export const release = (pool: Pool, requests: readonly ReleaseRequest[]): Promise<ReleaseAnswer[]> =>
  transit(pool, requests, (on) => statement(on, requests), effectsIfOk)

async function statement(on: Queryable, requests: readonly ReleaseRequest[]): Promise<ReleaseAnswer[]> {
  const asked = sorted(requests)
  const delays = asked.map(({ delayMs = 0 }) => delayMs)
  const notes = asked.map(({ note }) => (note === undefined ? null : storableText(note, NOTE_CHARS_MAX)))
  const moved = await on.query<{ job_id: string }>(RELEASE, [...heldColumns(asked), delays, notes])
  return okOrRefused(on, requests, moved)
}
