// Two ways to end a job from outside an attempt.
//   cancel: pending or processing → dead. The client or an operator no longer wants it.
//   bury:   pending, or processing whose lease has expired → dead. It cannot be done: out of attempts, or unreadable. Refused
//           while a lease is valid, because its holder may still finish.
import { storableText, type Pool, type Queryable } from '../db/database.ts'
import { ok, refused, type Ok, type Refused } from '../values/outcome.ts'
import { effectsIfOk, inOrder, transit, type WithEffects } from './effects.ts'
import type { JobState } from './job.ts'

const endJobs = (condition: string): string => `
  with seen as materialized (
    select asked.reason, j.job_id, j.state, j.attempt_id, j.lease_owner, j.lease_until, j.started_at
      from json_to_recordset($1) as asked (job_id uuid, reason text)
      join jobs j on j.job_id = asked.job_id
     order by j.job_id for update of j
  ), judged as materialized (
    select *, state = 'processing' and lease_until <= clock_timestamp() as abandoned, clock_timestamp() as at from seen
  ), ended as (
    insert into attempts (job_id, attempt_id, owner, started_at, ended_at, outcome)
    select job_id, attempt_id, lease_owner, started_at, at, 'lease_expired' from judged where abandoned
  ), moved as (
    update jobs set state = 'dead', reason = judged.reason, finished_at = judged.at, due_at = null, lease_until = null
      from judged where jobs.job_id = judged.job_id and (${condition})
  )
  select job_id, state, (${condition}) as ends from judged`

const CANCEL = endJobs(`judged.state in ('pending', 'processing')`)
const BURY = endJobs(`judged.state = 'pending' or judged.abandoned`)

const REASON_CHARS_MAX = 4000

export interface EndRequest extends WithEffects {
  jobId: string
  reason: string
}

/** In order of precedence. */
type EndRefusal = 'unknown_job' | 'already_finished' | 'lease_still_valid'
export type EndAnswer = Ok | Refused<EndRefusal>

export const cancel = (pool: Pool, requests: readonly EndRequest[]): Promise<EndAnswer[]> =>
  transit(pool, requests, (on) => statement(on, CANCEL, requests), effectsIfOk)

export const bury = (pool: Pool, requests: readonly EndRequest[]): Promise<EndAnswer[]> =>
  transit(pool, requests, (on) => statement(on, BURY, requests), effectsIfOk)

async function statement(on: Queryable, sql: string, requests: readonly EndRequest[]): Promise<EndAnswer[]> {
  const asked = requests.map(({ jobId, reason }) => ({ job_id: jobId, reason: storableText(reason, REASON_CHARS_MAX) }))
  type Seen = { job_id: string; state: JobState; ends: boolean }
  return inOrder(requests, await on.query<Seen>(sql, [JSON.stringify(asked)]), (_, row) => {
    if (row === undefined) return refused('unknown_job')
    if (row.ends) return ok
    return refused(row.state === 'processing' ? 'lease_still_valid' : 'already_finished')
  })
}
