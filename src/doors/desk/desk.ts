// What every request of the desk stands on.
import type { Deps } from '../../core/door.ts'
import type { FileStore } from '../../core/files/file-store.ts'
import type { Effect } from '../../core/ledger/effects.ts'
import type { DeskMetrics } from './metrics.ts'
import type { Mirror } from './redis-mirror/mirror.ts'
import { eventEffect, type DeskEvent } from './changes/events.ts'
import type { Proxies } from './domains/proxies.ts'
import type { Sealer } from './solutions/seal.ts'
import type { OfDomain, SessionRow } from './sessions/session-store.ts'
import type { SessionWaits } from './sessions/session-waits.ts'
import type { DeskSettings } from './settings.ts'
import type { TaskStore } from './tasks/task-store.ts'

export interface Desk extends Deps {
  settings: DeskSettings
  sealer: Sealer
  proxies: Proxies
  mirror: Mirror
  previews: FileStore
  tasks: TaskStore
  sessionsOf: (asked: OfDomain) => Promise<readonly SessionRow[]>
  sessionWaits: SessionWaits
  counts: DeskMetrics
}

/** Part of the change that they are about. `afterCommit` tells those who listen elsewhere. */
export const eventEffects = ({ events }: Pick<Desk, 'events'>, told: readonly DeskEvent[]): Effect[] =>
  told.map((event) => eventEffect(events, event))

/** Of a transition of the ledger, which wakes the outbox by itself. */
export function afterCommit({ mirror, sessionWaits }: Desk, told: readonly DeskEvent[]): void {
  mirror.publish(told)
  for (const { type, accountId, payload } of told) {
    if (type === 'session_cached') sessionWaits.announce({ accountId, domain: payload.domain })
  }
}

/** Of a transaction of the desk's own. */
export function afterOwnCommit(desk: Desk, told: readonly DeskEvent[]): void {
  desk.outbox.wake()
  afterCommit(desk, told)
}
