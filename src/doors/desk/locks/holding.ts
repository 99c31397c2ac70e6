// Holding a task. An operator's lock is the lease of the task's job: the ledger decides who has it and until when, and what
// the door writes about it is an effect of the ledger's own transition.
//
//   pending, failed ──claim──► in_progress ──► solving ──► (ending.ts)
//         ▲                        │  │  └──claim by the same operator: renewed
//         └──release, lapse────────┘  └──steal by an admin: released, then claimed
import type { Effect } from '../../../core/ledger/effects.ts'
import type { Held, Job } from '../../../core/ledger/job.ts'
import { auditEffect } from '../changes/audit.ts'
import { afterCommit, eventEffects, type Desk } from '../desk.ts'
import { told, type DeskEvent } from '../changes/events.ts'
import { lapse } from './lapse.ts'
import { secondsBetween } from '../metrics.ts'
import type { TaskRow } from '../tasks/task.ts'

// After the ledger's own statement, so that it is never the earlier of the two.
const CLAIM = `
  update captcha_task
     set status = 'in_progress', assigned_to = r.operator, claimed_at = clock_timestamp(),
         locked_until = clock_timestamp() + r.lock_sec * interval '1 second', unclaimed_since = null, lapsed_from = null,
         overdue_at = null, updated_at = clock_timestamp()
    from json_to_recordset($1) as r (job_id uuid, operator text, lock_sec integer)
   where captcha_task.job_id = r.job_id`

const RENEW = `
  update captcha_task
     set locked_until = clock_timestamp() + r.lock_sec * interval '1 second', updated_at = clock_timestamp()
    from json_to_recordset($1) as r (job_id uuid, operator text, lock_sec integer)
   where captcha_task.job_id = r.job_id`

const PUT_BACK = `
  update captcha_task
     set status = r.status, assigned_to = null, locked_until = null, unclaimed_since = clock_timestamp(),
         lapsed_from = r.lost_by, last_error = coalesce(r.error, last_error), overdue_at = null,
         updated_at = clock_timestamp()
    from json_to_recordset($1) as r (job_id uuid, status text, error text, lost_by text)
   where captcha_task.job_id = r.job_id`

const TRIES_MAX = 5

export interface Claimer {
  operator: string
  lockSec: number
  /** An admin takes the lock away from whoever has it. */
  steals: boolean
}

/** In order of precedence. */
export type HoldRefusal = { ok: false; code: 'ended' } | { ok: false; code: 'held'; holder: string; until: Date | null }

export type ClaimAnswer = { ok: true; held: Held; isRenewed: boolean } | HoldRefusal

/** The lock for this operator, or who has it. */
export async function claim(desk: Desk, task: TaskRow, by: Claimer): Promise<ClaimAnswer> {
  let last: HoldRefusal = { ok: false, code: 'held', holder: by.operator, until: null }
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    // What was read a moment ago will do, unless it has proved wrong.
    const row = tries === 0 ? task : ((await desk.tasks.find(task.uuid)) ?? task)
    const holder = await holderNow(desk, row)
    if (holder === 'ended') return { ok: false, code: 'ended' }
    if (holder !== null) last = { ok: false, code: 'held', holder: holder.held.owner, until: holder.until }
    if (holder === null) {
      const taken = await take(desk, task, by)
      if (taken !== null) return taken
    } else if (holder.held.owner === by.operator) {
      const renewed = await renew(desk, task, holder.held, by)
      if (renewed !== null) return renewed
    } else if (by.steals) {
      await putBack(desk, task, holder.held, { actor: by.operator, how: 'stolen' })
    } else {
      return last
    }
  }
  return last // it changed hands faster than it could be asked for
}

/** Who has the lock now, by the ledger's word. */
export async function holderOf(desk: Desk, task: TaskRow): Promise<Holder | null | 'ended'> {
  const row = await desk.tasks.find(task.uuid)
  return row === null ? 'ended' : holderNow(desk, row)
}

/** The same, for a row that was read a moment ago. A lock that has lapsed is put back first, so that its event is told. */
export async function holderNow(desk: Desk, row: TaskRow): Promise<Holder | null | 'ended'> {
  if (row.is_lapsed) await lapse(desk, [row.uuid])
  const job = await desk.ledger.get(row.job_id)
  if (job === null || job.state === 'done' || job.state === 'dead') return 'ended'
  // Until it was put back, the ledger still names the one whose lease is over.
  const isHeld = job.state === 'processing' && row.locked_until !== null
  return isHeld ? holderFrom(job, row.locked_until) : null
}

export interface Holder {
  held: Held
  until: Date | null
}

const holderFrom = ({ jobId, attemptId, leaseOwner }: Job, until: Date | null): Holder => ({
  held: { jobId, attemptId, owner: leaseOwner ?? '' },
  until,
})

/** A task that nobody holds. Null: the ledger says that somebody else was quicker. */
export async function take(desk: Desk, task: TaskRow, { operator, lockSec }: Claimer): Promise<ClaimAnswer | null> {
  const events = [told.assigned(task, operator)]
  const answer = await desk.ledger.acquire({
    jobId: task.job_id,
    owner: operator,
    leaseMs: lockSec * 1000,
    effects: () => [
      auditEffect({ action: 'claimed', actor: operator, uuid: task.uuid, operator }),
      { sql: CLAIM, row: { job_id: task.job_id, operator, lock_sec: lockSec } },
      ...eventEffects(desk, events),
    ],
  })
  if (!answer.ok) return null
  afterCommit(desk, events)
  desk.mirror.held(task, operator, lockSec)
  desk.counts.tasks.inc({ outcome: 'claimed' })
  const waitedSec = secondsBetween(task.unclaimed_since, task.now)
  if (waitedSec !== null) desk.counts.claim.observe(waitedSec)
  const { jobId, attemptId, owner } = answer.job
  return { ok: true, held: { jobId, attemptId, owner }, isRenewed: false }
}

async function renew(
  desk: Desk,
  task: TaskRow,
  held: Held,
  { operator, lockSec }: Claimer,
): Promise<ClaimAnswer | null> {
  const answer = await desk.ledger.renew({
    ...held,
    leaseMs: lockSec * 1000,
    effects: [
      auditEffect({ action: 'renewed', actor: operator, uuid: task.uuid }),
      { sql: RENEW, row: { job_id: held.jobId, operator, lock_sec: lockSec } },
    ],
  })
  if (!answer.ok) return null
  desk.mirror.held(task, operator, lockSec)
  return { ok: true, held, isRenewed: true }
}

export interface PuttingBack {
  actor: string
  how: 'released' | 'stolen' | 'failed'
  error?: string | null
}

/** The lock is given back, or taken away. False: it was not held like this any more. */
export async function putBack(desk: Desk, task: TaskRow, held: Held, { actor, how, error = null }: PuttingBack) {
  const status = how === 'failed' ? 'failed' : 'pending'
  const events = [eventOf(task, held.owner, how, error)]
  const effects: Effect[] = [
    auditEffect({ action: how, actor, uuid: task.uuid, operator: held.owner, detail: error }),
    { sql: PUT_BACK, row: { job_id: held.jobId, status, error, lost_by: how === 'stolen' ? held.owner : null } },
    ...eventEffects(desk, events),
  ]
  const answer = await desk.ledger.release({ ...held, effects })
  if (!answer.ok) return false
  afterCommit(desk, events)
  if (how === 'failed') desk.mirror.ended(task)
  else desk.mirror.waits(task)
  desk.counts.tasks.inc({ outcome: how })
  return true
}

const eventOf = (task: TaskRow, operator: string, how: PuttingBack['how'], error: string | null): DeskEvent =>
  how === 'failed' ? told.failed(task, operator, error) : told.released(task, operator, how)
