// A lock whose time is up: the task waits again, and everyone is told. The ledger needs no transition for it (whoever
// acquires takes over from a lease that has expired), so this only moves the door's own word. The row's lock orders it
// against a claim or a renewal: either that came first and there is nothing to put back, or it comes after.
import { sendEffects } from '../../../core/ledger/effects.ts'
import { auditEffect } from '../changes/audit.ts'
import { afterOwnCommit, eventEffects, type Desk } from '../desk.ts'
import { told } from '../changes/events.ts'
import type { TaskRow } from '../tasks/task.ts'

const FIND = `
  select t.uuid, t.assigned_to from captcha_task t
   where t.locked_until <= statement_timestamp() and ($1::uuid[] is null or t.uuid = any ($1))
   order by t.locked_until limit $2 for update skip locked`

const PUT_BACK = `
  update captcha_task
     set status = 'pending', lapsed_from = assigned_to, assigned_to = null, unclaimed_since = locked_until,
         locked_until = null, overdue_at = null, updated_at = clock_timestamp()
   where uuid = any ($1::uuid[])
  returning id, uuid, account_id, domain, priority, created_at, lapsed_from`

type Lapsed = Pick<TaskRow, 'id' | 'uuid' | 'account_id' | 'domain' | 'priority' | 'created_at' | 'lapsed_from'>

/** Of these tasks, or of all: at most `limit`. Resolves to how many there were. */
export async function lapse(desk: Desk, uuids: readonly string[] | null, limit = 500): Promise<number> {
  const { lapsed, events } = await desk.database.transaction(async (tx) => {
    const found = await tx.query<{ uuid: string; assigned_to: string }>(FIND, [uuids, limit])
    if (found.length === 0) return { lapsed: [], events: [] }
    sendEffects(
      tx,
      found.map(({ uuid, assigned_to: actor }) => auditEffect({ action: 'lapsed', actor, uuid })),
    )
    const lapsed = await tx.query<Lapsed>(PUT_BACK, [found.map(({ uuid }) => uuid)])
    const events = lapsed.map((task) => told.released(task, task.lapsed_from, 'lapsed'))
    sendEffects(tx, eventEffects(desk, events))
    return { lapsed, events }
  })
  if (lapsed.length === 0) return 0
  afterOwnCommit(desk, events)
  for (const task of lapsed) desk.mirror.waits(task)
  desk.counts.tasks.inc({ outcome: 'lapsed' }, lapsed.length)
  return lapsed.length
}
