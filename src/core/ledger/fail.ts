// fail: processing → pending after a delay, or → dead if no attempts are left or the failure is final. The attempt and its
// error are kept.
import { storableText, type Pool, type Queryable } from '../db/database.ts'
import type { Refused } from '../values/outcome.ts'
import { transit, type WithEffects } from './effects.ts'
import type { Held } from './job.ts'
import { rankSql } from './submit/rank.ts'
import { explainHeld, FENCE, HELD_ARRAYS, HELD_COLUMNS, heldColumns, sorted, type HeldRefusal } from './refusal.ts'

const DIES = `asked.retry_ms is null or coalesce(jobs.attempt_id - jobs.releases >= jobs.max_attempts, false)`

const FAIL = `
  with moved as (
    update jobs
       set state = case when ${DIES} then 'dead'::job_state else 'pending' end,
           reason = case when ${DIES} then asked.error end,
           finished_at = case when ${DIES} then clock_timestamp() end,
           due_at = case when not (${DIES}) then clock_timestamp() + asked.retry_ms * interval '1 ms' end,
           rank = ${rankSql('jobs.priority', 'coalesce(asked.retry_ms, 0)', '$6')},
           lease_until = null
      from unnest(${HELD_ARRAYS}, $4::text[], $5::bigint[]) as asked (${HELD_COLUMNS}, error, retry_ms)
     where ${FENCE}
    returning jobs.job_id, jobs.attempt_id, jobs.lease_owner, jobs.started_at, jobs.finished_at, jobs.state,
              asked.error
  ), ended as (
    insert into attempts (job_id, attempt_id, owner, started_at, ended_at, outcome, error)
    select job_id, attempt_id, lease_owner, started_at, coalesce(finished_at, clock_timestamp()), 'failed', error from moved
  )
  select job_id, state = 'dead' as dead from moved`

export interface FailRequest extends Held, WithEffects {
  /** Shown to people: no secret, no stack trace. The effects are committed only if the job dies. */
  error: string
  /** Null: the failure is final. */
  retryMs: number | null
}

export type FailAnswer = { ok: true; dead: boolean } | Refused<HeldRefusal>

const ERROR_CHARS_MAX = 4000

export const fail = (pool: Pool, requests: readonly FailRequest[], ageingSec: number): Promise<FailAnswer[]> =>
  transit(
    pool,
    requests,
    (on) => statement(on, requests, ageingSec),
    (request, answer) => (answer.ok && answer.dead ? (request.effects ?? []) : []),
  )

async function statement(on: Queryable, requests: readonly FailRequest[], ageingSec: number): Promise<FailAnswer[]> {
  const asked = sorted(requests)
  const errors = asked.map(({ error }) => storableText(error, ERROR_CHARS_MAX))
  const waits = asked.map(({ retryMs }) => retryMs)
  const params = [...heldColumns(asked), errors, waits, ageingSec]
  const moved = await on.query<{ job_id: string; dead: boolean }>(FAIL, params)
  const answers = await explainHeld(on, requests, new Map(moved.map((row) => [row.job_id, row])))
  return answers.map((answer) => ('applied' in answer ? { ok: true, dead: answer.applied.dead } : answer))
}
