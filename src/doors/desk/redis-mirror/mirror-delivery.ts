// Changes of a task outside the desk's own requests: an admin cancels or replays its job, through any process, a command among
// them, whose connection to Redis would close before anything was sent. These go through the outbox to a process that stays: it
// publishes the event and shows the task as it finds it.
import { Type } from 'typebox'
import { Check } from 'typebox/value'
import type { Effect } from '../../../core/ledger/effects.ts'
import type { Delivery } from '../../../core/outbox/delivery.ts'
import type { Outbox } from '../../../core/outbox/outbox.ts'
import { parseStoredEvent, storedEvent, type DeskEvent } from '../changes/events.ts'
import type { TaskStore } from '../tasks/task-store.ts'
import type { Mirror } from './mirror.ts'

const TOPIC = 'desk.mirror'
const QueuedEvent = Type.Object({ type: Type.String(), event: Type.Unknown() })

export const queueForMirror = (outbox: Outbox, event: DeskEvent): Effect =>
  outbox.add(TOPIC, { payload: { type: event.type, event: storedEvent(event) } })

interface MirrorDeliveryParts {
  mirror: Mirror
  tasks: TaskStore
}

export const mirrorDelivery = (parts: MirrorDeliveryParts): Delivery => ({
  topic: TOPIC,
  keeps: false,
  rowsMax: 100,
  claimMs: 5000,
  retry: { baseMs: 100, maxMs: 10_000 },
  attemptsMax: 10,
  async deliver(rows) {
    for (const { payload } of rows) await show(parts, payload) // in the order in which they happened
    return rows.map(() => ({ ok: true }))
  },
})

async function show({ mirror, tasks }: MirrorDeliveryParts, queued: unknown): Promise<void> {
  const event = Check(QueuedEvent, queued) ? parseStoredEvent(queued.event) : null
  if (event === null || !Check(QueuedEvent, queued)) return
  const { uuid } = event.payload
  const task = uuid === undefined ? null : await tasks.find(uuid)
  if (task?.status === 'pending') mirror.apply([{ type: 'pending', task }])
  else if (task !== null && task.ended_at !== null) mirror.apply([{ type: 'removed', task }])
  mirror.publishStored(queued.type, event)
}
