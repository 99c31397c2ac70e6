// What time does to tasks and sessions. Each sweep is one bounded pass that any number of processes may make at once; the ledger or
// the row lock lets one of them make each change.
import type { Loop } from '../../../core/loop.ts'
import { expired } from '../changes/end-changes.ts'
import { sessionExpired } from '../changes/session-changes.ts'
import { overdue } from '../changes/task-changes.ts'
import type { EventTask } from '../changes/events.ts'
import type { Desk } from '../desk.ts'
import { lapse } from '../locks/lapse.ts'
import { deleteExpired } from '../sessions/session-store.ts'
import { COLUMNS, type TaskRow } from '../tasks/task.ts'
import { pruneSolutions } from './retention.ts'

const FIND_EXPIRED = `
  select ${COLUMNS} from captcha_task t
   where t.unclaimed_since <= statement_timestamp() - $1 * interval '1 second' order by t.unclaimed_since limit $2`

const LOCK_OPEN = `select uuid from captcha_task where job_id = $1 and ended_at is null for update`

// A task is overdue once while it waits and once while it is held; a claim or a release starts it anew.
const markOverdue = (condition: string): string => `
  with late as materialized (
    select t.uuid from captcha_task t where t.overdue_at is null and ${condition} limit $2 for update skip locked
  )
  update captcha_task t set overdue_at = clock_timestamp() from late where t.uuid = late.uuid
  returning t.id, t.uuid, t.account_id, t.domain, clock_timestamp() as now,
            extract(epoch from clock_timestamp() - coalesce(t.unclaimed_since, t.claimed_at))::integer as seconds`

const MARK_WAITING = markOverdue(
  `t.unclaimed_since <= statement_timestamp() - $1 * interval '1 second' and t.status = 'pending'`,
)
const MARK_HELD = markOverdue(
  `t.locked_until > statement_timestamp() and t.claimed_at <= statement_timestamp() - $1 * interval '1 second'`,
)

const BATCH = 500
const SWEEP_EVERY_MS = 1000
const PRUNE_EVERY_MS = 60_000

export type SweepParts = Pick<Desk, 'database' | 'ledger' | 'changes' | 'settings'>

export const sweepLoops = (parts: SweepParts & Pick<Desk, 'previews'>): Loop[] => [
  {
    name: 'release-lapsed-desk-locks',
    everyMs: SWEEP_EVERY_MS,
    isDue: `exists (select from captcha_task where locked_until <= statement_timestamp())`,
    runOnce: () => sweepLapsed(parts),
  },
  {
    name: 'expire-unclaimed-desk-tasks',
    everyMs: SWEEP_EVERY_MS,
    isDue: `exists (select from captcha_task where unclaimed_since <= statement_timestamp()
                       - ${parts.settings.CAPTCHA_TASK_TIMEOUT} * interval '1 second')`,
    runOnce: () => sweepUnclaimed(parts),
  },
  {
    name: 'report-overdue-desk-tasks',
    everyMs: SWEEP_EVERY_MS,
    isDue: `exists (select from captcha_task where ended_at is null)`,
    runOnce: () => sweepOverdue(parts),
  },
  {
    name: 'delete-expired-desk-sessions',
    everyMs: SWEEP_EVERY_MS,
    isDue: `exists (select from captcha_session where expires_at <= statement_timestamp())`,
    runOnce: () => sweepSessions(parts),
  },
  { name: 'prune-desk-solutions-and-previews', everyMs: PRUNE_EVERY_MS, runOnce: () => pruneSolutions(parts) },
]

export const sweepLapsed = async (parts: Pick<Desk, 'changes'>): Promise<boolean> =>
  (await lapse(parts, null, BATCH)) === BATCH

export async function sweepUnclaimed(parts: SweepParts): Promise<boolean> {
  const { database, settings } = parts
  const found = await database.query<TaskRow>(FIND_EXPIRED, [settings.CAPTCHA_TASK_TIMEOUT, BATCH])
  const expired = await Promise.all(found.map((task) => expire(parts, task)))
  return found.length === BATCH && expired.includes(true)
}

/** False: somebody claimed or ended it a moment ago. */
async function expire({ ledger, changes }: SweepParts, task: TaskRow): Promise<boolean> {
  const change = expired(task)
  const effects = changes.effects(change)
  const answer = await ledger.bury({ jobId: task.job_id, reason: 'Nobody claimed it in time.', effects })
  if (answer.ok) {
    changes.committed(change)
    return true
  }
  if (answer.code === 'lease_still_valid') return false
  // The job may have ended in a process that does not have this door, and the task is still open. Another sweep may have seen
  // the same: whoever locks the open row ends it.
  const made = await changes.transact(async (tx) =>
    (await tx.query(LOCK_OPEN, [task.job_id])).length === 0 ? [] : [change],
  )
  return made.length > 0
}

async function sweepOverdue(parts: SweepParts): Promise<boolean> {
  const { CAPTCHA_SLA_CLAIM_SECONDS: claimSec, CAPTCHA_SLA_SOLVE_SECONDS: solveSec } = parts.settings
  const waiting = claimSec > 0 && (await reportOverdue(parts, MARK_WAITING, 'claim', claimSec))
  const held = solveSec > 0 && (await reportOverdue(parts, MARK_HELD, 'solve', solveSec))
  return waiting || held
}

async function reportOverdue({ changes }: SweepParts, sql: string, sla: 'claim' | 'solve', seconds: number) {
  const made = await changes.transact(async (tx) => {
    const late = await tx.query<EventTask & { seconds: number }>(sql, [seconds, BATCH])
    return late.map((task) => overdue(task, sla, task.seconds))
  })
  return made.length === BATCH
}

async function sweepSessions({ changes }: SweepParts): Promise<boolean> {
  const made = await changes.transact(async (tx) =>
    (await deleteExpired(tx, BATCH)).map((session) => sessionExpired(session, 'expired')),
  )
  return made.length === BATCH
}
