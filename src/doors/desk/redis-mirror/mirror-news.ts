// What becomes of a task outside the desk's own requests: an admin cancels or replays its job, through any process, a command
// among them, whose connection to Redis would be gone before anything was said. So it goes through the outbox to a process
// that stays: that one publishes the event, and paints the task as it finds it.
import type { Effect } from '../../../core/ledger/effects.ts'
import type { Delivery } from '../../../core/outbox/delivery.ts'
import type { Desk } from '../desk.ts'
import { eventFrom, type DeskEvent } from '../changes/events.ts'

const TOPIC = 'desk.mirror'

/** Nothing, where there is no Redis. */
export const mirrorEffects = (
  { mirror, outbox }: Pick<Desk, 'mirror' | 'outbox'>,
  { type, accountId, payload }: DeskEvent,
): Effect[] => (mirror.isThere ? [outbox.add(TOPIC, { payload: { type, account_id: accountId, payload } })] : [])

export const mirrorDelivery = (desk: Pick<Desk, 'mirror' | 'tasks'>): Delivery => ({
  topic: TOPIC,
  keeps: false,
  rowsMax: 100,
  claimMs: 5000,
  retry: { baseMs: 100, maxMs: 10_000 },
  attemptsMax: 10,
  async deliver(rows) {
    for (const { payload } of rows) await show(desk, payload) // one after the other, as they happened
    return rows.map(() => ({ ok: true }))
  },
})

async function show({ mirror, tasks }: Pick<Desk, 'mirror' | 'tasks'>, stored: unknown): Promise<void> {
  const type = typeof stored === 'object' && stored !== null && 'type' in stored ? String(stored.type) : ''
  const event = eventFrom(type, stored)
  if (event === null) return
  const task = 'uuid' in event.payload ? await tasks.find(String(event.payload.uuid)) : null
  if (task?.status === 'pending') mirror.waits(task)
  else if (task !== null && task.ended_at !== null) mirror.ended(task)
  mirror.publish([event])
}
