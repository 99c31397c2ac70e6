// What the desk tells: `{type, timestamp, payload}` under the contract's names. An event is an effect of the change that it
// is about, and goes into the log that every WebSocket follows; where there is Redis, the process that made the change
// publishes it there as well. No event ever holds a cookie, a token or a solution.
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
  /** Whose task it is: a program sees its own. */
  accountId: number
  payload: Readonly<Record<string, unknown>> & { domain: string }
}

type Told = Pick<TaskRow, 'id' | 'uuid' | 'domain' | 'account_id'>

const about = ({ id, uuid, domain }: Told) => ({ task_id: id, uuid, domain })

const taskEvent =
  (type: EventType) =>
  (task: Told, more: Readonly<Record<string, unknown>> = {}): DeskEvent => ({
    type,
    accountId: Number(task.account_id),
    payload: { ...about(task), ...more },
  })

export const told = {
  created: (task: Told & Pick<TaskRow, 'url' | 'priority'>) =>
    taskEvent('task_created')(task, { url: task.url, priority: task.priority }),
  assigned: (task: Told, operator: string) => taskEvent('task_assigned')(task, { operator_id: operator }),
  solving: (task: Told, operator: string) => taskEvent('task_solving')(task, { operator_id: operator }),
  solved: (task: Told, sessionTtlSec: number | null) =>
    taskEvent('task_solved')(task, { has_session: sessionTtlSec !== null, session_ttl: sessionTtlSec ?? 0 }),
  failed: (task: Told, operator: string, reason: string | null) =>
    taskEvent('task_failed')(task, { operator_id: operator, reason }),
  unsolvable: (task: Told, reason: string) => taskEvent('task_unsolvable')(task, { reason }),
  expired: (task: Told) => taskEvent('task_expired')(task),
  released: (task: Told, operator: string | null, reason: 'released' | 'lapsed' | 'stolen' | 'reopened') =>
    taskEvent('task_released')(task, { operator_id: operator, reason }),
  overdue: (task: Told, what: 'claim' | 'solve', seconds: number) =>
    taskEvent('task_overdue')(task, { sla: what, seconds }),
  sessionCached: (accountId: number, domain: string, ttlSec: number): DeskEvent => ({
    type: 'session_cached',
    accountId,
    payload: { domain, ttl: ttlSec },
  }),
  sessionExpired: (accountId: number, domain: string, reason: 'expired' | 'deleted' | 'reported_bad'): DeskEvent => ({
    type: 'session_expired',
    accountId,
    payload: { domain, reason },
  }),
}

export const eventEffect = (events: Events, { type, accountId, payload }: DeskEvent): Effect =>
  events.effect({ channel: CHANNEL, type, payload: { account_id: accountId, payload } })

/** As the log gives it back. */
export function eventFrom(type: string, stored: unknown): { type: string; accountId: number; payload: object } | null {
  if (typeof stored !== 'object' || stored === null || !('account_id' in stored) || !('payload' in stored)) return null
  const { account_id: accountId, payload } = stored
  if (typeof accountId !== 'number' || typeof payload !== 'object' || payload === null) return null
  return { type, accountId, payload }
}
