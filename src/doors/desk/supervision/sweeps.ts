// What time does to tasks and sessions. Each sweep is one bounded pass that any number of processes may make at once; the
// ledger, or the row's lock, lets only one of them have its way.
import { sendEffects } from '../../../core/ledger/effects.ts'
import type { Loop } from '../../../core/loop.ts'
import { auditEffect } from '../changes/audit.ts'
import { afterOwnCommit, eventEffects, type Desk } from '../desk.ts'
import { endEffect } from '../solutions/ending.ts'
import { told } from '../changes/events.ts'
import { lapse } from '../locks/lapse.ts'
import { sweepKept } from './retention.ts'
import { deleteExpired } from '../sessions/session-store.ts'
import { COLUMNS, type TaskRow } from '../tasks/task.ts'

const FIND_EXPIRED = `
  select ${COLUMNS} from captcha_task t
   where t.unclaimed_since <= statement_timestamp() - $1 * interval '1 second' order by t.unclaimed_since limit $2`

// A task is told as overdue once for its waiting and once for its being held; a change of hands starts it anew.
const markOverdue = (condition: string): string => `
  with late as materialized (
    select t.uuid from captcha_task t where t.overdue_at is null and ${condition} limit $2 for update skip locked
  )
  update captcha_task t set overdue_at = clock_timestamp() from late where t.uuid = late.uuid
  returning t.id, t.uuid, t.account_id, t.domain,
            extract(epoch from clock_timestamp() - coalesce(t.unclaimed_since, t.claimed_at))::integer as seconds`

const MARK_WAITING = markOverdue(
  `t.unclaimed_since <= statement_timestamp() - $1 * interval '1 second' and t.status = 'pending'`,
)
const MARK_HELD = markOverdue(
  `t.locked_until > statement_timestamp() and t.claimed_at <= statement_timestamp() - $1 * interval '1 second'`,
)

const BATCH = 500
const LOOK_EVERY_MS = 1000
const KEPT_EVERY_MS = 60_000

export const sweepLoops = (desk: Desk): Loop[] => [
  { name: 'put tasks back whose lock is over', everyMs: LOOK_EVERY_MS, runOnce: () => sweepLapsed(desk) },
  { name: 'expire tasks that nobody claims', everyMs: LOOK_EVERY_MS, runOnce: () => sweepUnclaimed(desk) },
  { name: 'tell which tasks are overdue', everyMs: LOOK_EVERY_MS, runOnce: () => sweepOverdue(desk) },
  { name: 'forget sessions that have expired', everyMs: LOOK_EVERY_MS, runOnce: () => sweepSessions(desk) },
  { name: 'forget old solutions and pictures', everyMs: KEPT_EVERY_MS, runOnce: () => sweepKept(desk) },
]

export const sweepLapsed = async (desk: Desk): Promise<boolean> => (await lapse(desk, null, BATCH)) === BATCH

export async function sweepUnclaimed(desk: Desk): Promise<boolean> {
  const found = await desk.database.query<TaskRow>(FIND_EXPIRED, [desk.settings.CAPTCHA_TASK_TIMEOUT, BATCH])
  const expired = await Promise.all(found.map((task) => expire(desk, task)))
  return found.length === BATCH && expired.some((is) => is)
}

/** A live lock stands in the way: somebody claimed it a moment ago. */
async function expire(desk: Desk, task: TaskRow): Promise<boolean> {
  const events = [told.expired(task)]
  const effects = [
    auditEffect({ action: 'expired', actor: 'reeve', uuid: task.uuid }),
    endEffect(task.job_id, { status: 'expired' }),
    ...eventEffects(desk, events),
  ]
  const answer = await desk.ledger.bury({ jobId: task.job_id, reason: 'Nobody claimed it in time.', effects })
  // Ended by a process that does not have this door: only its word is missing here.
  const isEndedElsewhere = !answer.ok && answer.code !== 'lease_still_valid'
  if (isEndedElsewhere) await desk.database.transaction(async (tx) => sendEffects(tx, effects))
  if (!answer.ok && !isEndedElsewhere) return false
  afterOwnCommit(desk, events)
  desk.mirror.ended(task)
  desk.counts.tasks.inc({ outcome: 'expired' })
  return true
}

export async function sweepOverdue(desk: Desk): Promise<boolean> {
  const { CAPTCHA_SLA_CLAIM_SECONDS: claimSec, CAPTCHA_SLA_SOLVE_SECONDS: solveSec } = desk.settings
  const waiting = claimSec > 0 && (await tellOverdue(desk, MARK_WAITING, 'claim', claimSec))
  const held = solveSec > 0 && (await tellOverdue(desk, MARK_HELD, 'solve', solveSec))
  return waiting || held
}

async function tellOverdue(desk: Desk, sql: string, what: 'claim' | 'solve', seconds: number): Promise<boolean> {
  type Late = Pick<TaskRow, 'id' | 'uuid' | 'account_id' | 'domain'> & { seconds: number }
  const events = await desk.database.transaction(async (tx) => {
    const late = await tx.query<Late>(sql, [seconds, BATCH])
    const events = late.map((task) => told.overdue(task, what, task.seconds))
    sendEffects(tx, eventEffects(desk, events))
    return events
  })
  if (events.length > 0) afterOwnCommit(desk, events)
  return events.length === BATCH
}

export async function sweepSessions(desk: Desk): Promise<boolean> {
  const events = await desk.database.transaction(async (tx) => {
    const gone = await deleteExpired(tx, BATCH)
    const events = gone.map((session) => told.sessionExpired(Number(session.account_id), session.domain, 'expired'))
    sendEffects(tx, eventEffects(desk, events))
    return events
  })
  if (events.length > 0) afterOwnCommit(desk, events)
  return events.length === BATCH
}
