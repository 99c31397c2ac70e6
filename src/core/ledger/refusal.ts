// Why a transition of a held job was refused.
//
// A transition of a held job is one fenced update. The rows it did not touch are then read again, under a lock, and the
// condition that refused each is named. The two steps cannot disagree: attempts only rise, a finished job stays finished
// and a lease that has expired cannot be renewed, so the reason still holds afterwards. (Explaining from
// the update's own snapshot does not work: it shows a row that another transaction was changing as it was before.)
import { numbersParam, onceIfSame, textsParam, uuidsParam } from '../db/params.ts'
import type { Queryable } from '../db/database.ts'
import { hideFromPlanner, sameInAll } from '../db/sql.ts'
import { ok, refused, type Ok, type Refused } from '../values/outcome.ts'
import type { Held, JobState } from './job.ts'

/** In order of precedence (docs/state-machine.md). */
export type HeldRefusal =
  | 'unknown_job'
  | 'stale_attempt'
  | 'already_finished'
  | 'not_in_expected_state'
  | 'lease_lost_or_owner_mismatch'

/** The fence, as a condition on `jobs`, which have been found by their ids. */
export const fence = (heldAttempt: string, owner: string): string =>
  hideFromPlanner(`jobs.state = 'processing' and jobs.attempt_id = ${heldAttempt}
       and jobs.lease_owner = ${owner} and jobs.lease_until > clock_timestamp()`)

/** The same for a row of `asked`. */
export const FENCE = `jobs.job_id = asked.job_id
       and ${fence('asked.held_attempt', sameInAll('$3::text[]', 'asked.owner'))}`

/** What every request of a held job sends, a parameter per column. A transition adds its own columns to all three. */
export const HELD_ARRAYS = '$1::uuid[], $2::integer[], $3::text[]'
export const HELD_COLUMNS = 'job_id, held_attempt, owner'
export const heldColumns = (requests: readonly Held[]) => [
  uuidsParam(requests.map(({ jobId }) => jobId)),
  numbersParam(requests.map(({ attemptId }) => attemptId)),
  textsParam(onceIfSame(requests, ({ owner }) => owner)),
]

const LOCK_SEEN = `
  select job_id, state, attempt_id from jobs where job_id = any($1::uuid[]) order by job_id for share`

interface SeenRow {
  job_id: string
  state: JobState
  attempt_id: number
}

/** Answers all requests in their order. `applied` are the rows that the update returned, by job id. */
export async function explainHeld<Request extends Held, Applied>(
  on: Queryable,
  requests: readonly Request[],
  applied: ReadonlyMap<string, Applied>,
): Promise<({ applied: Applied } | Refused<HeldRefusal>)[]> {
  const missing = requests.filter((request) => !applied.has(request.jobId)).map((request) => request.jobId)
  const seen = missing.length === 0 ? [] : await on.query<SeenRow>(LOCK_SEEN, [missing])
  const seenOf = new Map(seen.map((row) => [row.job_id, row]))

  return requests.map((request) => {
    const row = applied.get(request.jobId)
    return row === undefined ? heldRefusal(request, seenOf.get(request.jobId)) : { applied: row }
  })
}

/** The first condition that refused. */
function heldRefusal(held: Held, row: SeenRow | undefined): Refused<HeldRefusal> {
  if (row === undefined) return refused('unknown_job')
  if (row.attempt_id > held.attemptId) return refused('stale_attempt')
  if (row.state === 'done' || row.state === 'dead') return refused('already_finished')
  if (row.state !== 'processing') return refused('not_in_expected_state')
  return refused('lease_lost_or_owner_mismatch')
}

/** The same for transitions that return nothing but whether they were applied. */
export async function okOrRefused<Request extends Held>(
  on: Queryable,
  requests: readonly Request[],
  applied: readonly { job_id: string }[],
): Promise<(Ok | Refused<HeldRefusal>)[]> {
  const answers = await explainHeld(on, requests, new Map(applied.map((row) => [row.job_id, row])))
  return answers.map((answer) => ('applied' in answer ? ok : answer))
}

/** Ordered by id: two statements that lock the same rows lock them in the same order. */
export const sorted = <Request extends { jobId: string }>(requests: readonly Request[]): readonly Request[] =>
  requests.length === 1 ? requests : requests.toSorted((a, b) => (a.jobId < b.jobId ? -1 : 1))
