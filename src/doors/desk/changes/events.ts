// Events of the desk: `{type, timestamp, payload}` (docs/desk.md, section 9). An event is an effect of the change that it reports
// and goes into the log that every WebSocket follows; where there is Redis, the process that made the change also publishes it there.
// No event holds a cookie, a token or a solution.
import { Type, type Static } from 'typebox'
import { Check } from 'typebox/value'
import type { Events } from '../../../core/events/events.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import type { TaskRow } from '../tasks/task.ts'

export const CHANNEL = 'captcha'

export type EventType =
  | 'task_created'
  | 'task_assigned'
  | 'task_solving'
  | 'task_solved'
  | 'task_failed'
  | 'task_unsolvable'
  | 'task_expired'
  | 'task_released'
  | 'task_overdue'
  | 'session_cached'
  | 'session_expired'

export interface DeskEvent {
  type: EventType
  /** The creator of the task: a program sees only its own. */
  accountId: number
  /** By the database's clock. The same in the log, on the WebSocket and in Redis. */
  at: Date
  payload: Readonly<Record<string, unknown>> & { domain: string }
}

/** What an event needs to know of its task. */
export type EventTask = Pick<TaskRow, 'id' | 'uuid' | 'domain' | 'account_id' | 'now'>

const taskEvent = (type: EventType, task: EventTask, more: Readonly<Record<string, unknown>> = {}): DeskEvent => ({
  type,
  accountId: Number(task.account_id),
  at: task.now,
  payload: { task_id: task.id, uuid: task.uuid, domain: task.domain, ...more },
})

export type ReleaseReason = 'released' | 'lapsed' | 'stolen' | 'reopened'

/** A session as an event names it. */
export interface EventSession {
  accountId: number
  domain: string
  now: Date
}

const sessionEvent = (type: EventType, { accountId, domain, now }: EventSession, more: object): DeskEvent => ({
  type,
  accountId,
  at: now,
  payload: { domain, ...more },
})

export const deskEvent = {
  created: (task: EventTask & Pick<TaskRow, 'url' | 'priority'>) =>
    taskEvent('task_created', task, { url: task.url, priority: task.priority }),
  assigned: (task: EventTask, operator: string) => taskEvent('task_assigned', task, { operator_id: operator }),
  solving: (task: EventTask, operator: string) => taskEvent('task_solving', task, { operator_id: operator }),
  solved: (task: EventTask, sessionTtlSec: number | null) =>
    taskEvent('task_solved', task, { has_session: sessionTtlSec !== null, session_ttl: sessionTtlSec ?? 0 }),
  failed: (task: EventTask, operator: string, reason: string | null) =>
    taskEvent('task_failed', task, { operator_id: operator, reason }),
  unsolvable: (task: EventTask, reason: string) => taskEvent('task_unsolvable', task, { reason }),
  expired: (task: EventTask) => taskEvent('task_expired', task),
  released: (task: EventTask, operator: string | null, reason: ReleaseReason) =>
    taskEvent('task_released', task, { operator_id: operator, reason }),
  overdue: (task: EventTask, sla: 'claim' | 'solve', seconds: number) =>
    taskEvent('task_overdue', task, { sla, seconds }),
  sessionCached: (session: EventSession, ttlSec: number) => sessionEvent('session_cached', session, { ttl: ttlSec }),
  sessionExpired: (session: EventSession, reason: 'expired' | 'deleted' | 'reported_bad') =>
    sessionEvent('session_expired', session, { reason }),
}

const StoredEvent = Type.Object({
  account_id: Type.Integer(),
  timestamp: Type.String(),
  payload: Type.Object({ domain: Type.String(), uuid: Type.Optional(Type.String()) }),
})
export type StoredEvent = Static<typeof StoredEvent>

export const storedEvent = ({ accountId, at, payload }: DeskEvent): StoredEvent => ({
  account_id: accountId,
  timestamp: at.toISOString(),
  payload,
})

/** Null: not an event of the desk. */
export const parseStoredEvent = (stored: unknown): StoredEvent | null => (Check(StoredEvent, stored) ? stored : null)

export const eventEffect = (events: Pick<Events, 'effect'>, event: DeskEvent): Effect =>
  events.effect({ channel: CHANNEL, type: event.type, payload: storedEvent(event) })

/** As a WebSocket and the Redis channel carry it. */
export const wireEvent = (type: string, { timestamp, payload }: StoredEvent) => ({ type, timestamp, payload })
