// The end of a task: an operator's word (solved, unsolvable) is the result of its job, and time or an admin buries it. What
// the door keeps of it (the sealed solution, the session, the line of the trail, the events) commits with that.
import type { Effect } from '../../../core/ledger/effects.ts'
import { hideFromPlanner } from '../../../core/db/sql.ts'
import { auditEffect, type Action } from '../changes/audit.ts'
import { afterCommit, eventEffects, type Desk } from '../desk.ts'
import { told, type DeskEvent } from '../changes/events.ts'
import { claim, holderNow, holderOf, take, type HoldRefusal } from '../locks/holding.ts'
import { secondsBetween } from '../metrics.ts'
import { storeSession, type NewSession } from '../sessions/session-store.ts'
import type { Parsed } from './solution.ts'
import type { TaskRow } from '../tasks/task.ts'

// What the page of the task wanted to keep goes with it. The condition is hidden from the planner, which would otherwise walk
// all open tasks for each that ends.
const END = `
  with ended as (
    update captcha_task
       set status = r.status, assigned_to = coalesce(r.operator, assigned_to), solver_result = r.solver_result,
           solver_expires_at = r.expires_at, last_error = coalesce(r.error, last_error), locked_until = null,
           unclaimed_since = null, lapsed_from = null, overdue_at = null, ended_at = clock_timestamp(),
           updated_at = clock_timestamp()
      from json_to_recordset($1) as r (job_id uuid, status text, operator text, solver_result text,
           expires_at timestamptz, error text)
     where captcha_task.job_id = r.job_id and ${hideFromPlanner('captcha_task.ended_at is null')}
    returning captcha_task.uuid
  )
  delete from captcha_cookie using ended where captcha_cookie.uuid = ended.uuid`

/** Long enough to hand in what is at hand already. */
const AT_ONCE_SEC = 60

export interface End {
  status: 'solved' | 'unsolvable' | 'expired'
  operator?: string
  /** Sealed. */
  solverResult?: string
  expiresAt?: Date | null
  error?: string
}

/** What every end changes, whoever ends it. */
export const endEffect = (jobId: string, { status, operator, solverResult, expiresAt, error }: End): Effect => ({
  sql: END,
  row: { job_id: jobId, status, operator, solver_result: solverResult, expires_at: expiresAt ?? null, error },
})

export type FinishAnswer =
  | { ok: true }
  | HoldRefusal
  /** The operator's own lock ran out or was taken away: whoever wants to go on claims it again. */
  | { ok: false; code: 'lapsed' }

interface Finish {
  end: End
  action: Action
  result: object
  events: readonly DeskEvent[]
  session: NewSession | null
}

export function solve(desk: Desk, task: TaskRow, operator: string | null, parsed: Parsed): Promise<FinishAnswer> {
  const { solution, expiresAt, session } = parsed
  const accountId = Number(task.account_id)
  const stored: NewSession | null =
    session === null
      ? null
      : {
          accountId,
          domain: task.domain,
          uuid: task.uuid,
          value: desk.sealer.seal(`session:${task.uuid}`, { cookies: session.cookies, data: session.data }),
          userAgent: solution.user_agent ?? task.user_agent,
          proxyId: task.proxy_id,
          proxyShown: task.proxy_shown,
          ttlSec: session.ttlSec,
        }
  const ttlSec = stored?.ttlSec ?? null
  return finish(desk, task, operator, {
    end: { status: 'solved', solverResult: desk.sealer.seal(`solution:${task.uuid}`, solution), expiresAt },
    action: 'solved',
    result: { outcome: 'solved', type: solution.type },
    events: [
      told.solved(task, ttlSec),
      ...(ttlSec === null ? [] : [told.sessionCached(accountId, task.domain, ttlSec)]),
    ],
    session: stored,
  })
}

export const giveUp = (desk: Desk, task: TaskRow, operator: string | null, reason: string): Promise<FinishAnswer> =>
  finish(desk, task, operator, {
    end: { status: 'unsolvable', error: reason },
    action: 'unsolvable',
    result: { outcome: 'unsolvable' },
    events: [told.unsolvable(task, reason)],
    session: null,
  })

async function finish(desk: Desk, task: TaskRow, operator: string | null, what: Finish): Promise<FinishAnswer> {
  const hold = await holdFor(desk, task, operator)
  if (!hold.ok) return hold
  const { held } = hold
  const { end, action, result, events, session } = what
  const answer = await desk.ledger.finalize({
    ...held,
    result,
    effects: [
      auditEffect({ action, actor: held.owner, uuid: task.uuid, operator: held.owner, detail: end.error ?? null }),
      endEffect(held.jobId, { ...end, operator: held.owner }),
      ...(session === null ? [] : [storeSession(session)]),
      ...eventEffects(desk, events),
    ],
  })
  if (!answer.ok) return refusalNow(desk, task)
  afterCommit(desk, events)
  desk.mirror.ended(task)
  if (session !== null) desk.mirror.cached(task.domain, session)
  desk.counts.tasks.inc({ outcome: end.status })
  const heldSec = secondsBetween(task.claimed_at, task.now)
  if (end.status === 'solved' && heldSec !== null) desk.counts.solve.observe(heldSec)
  return { ok: true }
}

/** The operator's own lock, or that of a task that nobody has claimed, taken for the moment. */
async function holdFor(desk: Desk, task: TaskRow, operator: string | null) {
  const holder = await holderNow(desk, task)
  if (holder === 'ended') return { ok: false as const, code: 'ended' as const }
  if (holder !== null && (operator === null || holder.held.owner === operator)) {
    return { ok: true as const, held: holder.held }
  }
  if (holder === null && operator !== null && task.lapsed_from === operator) {
    return { ok: false as const, code: 'lapsed' as const }
  }
  const claimer = { operator: operator ?? 'anonymous', lockSec: AT_ONCE_SEC, steals: false }
  return (holder === null ? await take(desk, task, claimer) : null) ?? claim(desk, task, claimer)
}

async function refusalNow(desk: Desk, task: TaskRow): Promise<FinishAnswer> {
  const holder = await holderOf(desk, task)
  if (holder === 'ended') return { ok: false, code: 'ended' }
  if (holder === null) return { ok: false, code: 'lapsed' }
  return { ok: false, code: 'held', holder: holder.held.owner, until: holder.until }
}
