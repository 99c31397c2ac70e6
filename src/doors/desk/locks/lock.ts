// The lock of a task is the lease of its job: the ledger decides who holds it and until when. What the desk writes about it is an
// effect of the ledger's own transition (changes/lock-changes.ts).
import type { Held, Job } from '../../../core/ledger/job.ts'
import { claimed, released, renewed, type LockRelease, type LockRequest } from '../changes/lock-changes.ts'
import type { Desk } from '../desk.ts'
import type { TaskRow } from '../tasks/task.ts'
import { lapse } from './lapse.ts'

const TRIES_MAX = 5

export type LockParts = Pick<Desk, 'ledger' | 'tasks' | 'changes'>

export interface LockClaim extends LockRequest {
  /** An admin takes the lock away from its holder. */
  steals: boolean
}

/** In order of precedence. */
export type LockRefusal = { ok: false; code: 'ended' } | { ok: false; code: 'held'; holder: string; until: Date | null }

export type ClaimAnswer = { ok: true; held: Held; isRenewed: boolean } | LockRefusal

/** Takes or renews the lock for an operator, or says who holds it. */
export async function claim(parts: LockParts, task: TaskRow, by: LockClaim): Promise<ClaimAnswer> {
  let last: LockRefusal = { ok: false, code: 'held', holder: by.operator, until: null }
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    // The row that the caller has read is used until it proves stale.
    const row = tries === 0 ? task : ((await parts.tasks.find(task.uuid)) ?? task)
    const holder = await holderOf(parts, row)
    if (holder === 'ended') return { ok: false, code: 'ended' }
    if (holder !== null) last = { ok: false, code: 'held', holder: holder.held.owner, until: holder.until }
    if (holder === null) {
      const taken = await take(parts, row, by)
      if (taken !== null) return taken
    } else if (holder.held.owner === by.operator) {
      const isRenewed = await renew(parts, row, holder.held, by)
      if (isRenewed) return { ok: true, held: holder.held, isRenewed }
    } else if (by.steals) {
      await release(parts, row, holder.held, { actor: by.actor ?? by.operator, how: 'stolen' })
    } else {
      return last
    }
  }
  return last // the lock changed hands faster than it could be asked for
}

export interface Holder {
  held: Held
  until: Date | null
}

/** Who holds the lock now, by the ledger. */
export async function currentHolder(parts: LockParts, task: TaskRow): Promise<Holder | null | 'ended'> {
  const row = await parts.tasks.find(task.uuid)
  return row === null ? 'ended' : holderOf(parts, row)
}

/** The same for a row that was read a moment ago. A lock that has lapsed is released first, so that its event is sent. */
export async function holderOf(parts: LockParts, row: TaskRow): Promise<Holder | null | 'ended'> {
  if (row.is_lapsed) await lapse(parts, [row.uuid])
  const job = await parts.ledger.get(row.job_id)
  if (job === null || job.state === 'done' || job.state === 'dead') return 'ended'
  // The ledger names the last holder until the next one acquires the job, even if the lease is over.
  const isHeld = job.state === 'processing' && row.locked_until !== null
  return isHeld ? { held: heldFrom(job), until: row.locked_until } : null
}

const heldFrom = ({ jobId, attemptId, leaseOwner }: Job): Held => ({ jobId, attemptId, owner: leaseOwner ?? '' })

/** The lock of a task that nobody holds. Null: somebody else was quicker. */
export async function take(parts: LockParts, task: TaskRow, by: LockRequest): Promise<ClaimAnswer | null> {
  const change = claimed(task, by)
  const answer = await parts.ledger.acquire({
    jobId: task.job_id,
    owner: by.operator,
    leaseMs: by.lockSec * 1000,
    effects: () => parts.changes.effects(change),
  })
  if (!answer.ok) return null
  parts.changes.committed(change)
  const { jobId, attemptId, owner } = answer.job
  return { ok: true, held: { jobId, attemptId, owner }, isRenewed: false }
}

/** False: it was no longer held like this. */
async function renew(parts: LockParts, task: TaskRow, held: Held, by: LockRequest): Promise<boolean> {
  const change = renewed(task, by)
  const effects = parts.changes.effects(change)
  const answer = await parts.ledger.renew({ leaseMs: by.lockSec * 1000, effects, ...held })
  if (answer.ok) parts.changes.committed(change)
  return answer.ok
}

/** The lock is given back, or taken away. False: it was no longer held like this. */
export async function release(parts: LockParts, task: TaskRow, held: Held, how: LockRelease): Promise<boolean> {
  const change = released(task, held.owner, how)
  const answer = await parts.ledger.release({ effects: parts.changes.effects(change), ...held })
  if (answer.ok) parts.changes.committed(change)
  return answer.ok
}
