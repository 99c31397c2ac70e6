// A change of a task or of a session, declared as one value: what the audit trail, the row, the subscribers, Redis and the counters
// learn of it. The declarations are in task-changes.ts, lock-changes.ts, end-changes.ts and session-changes.ts; this file derives the
// rest from them. What must happen exactly once (row, audit, session, event) is an effect and commits with the ledger's transition,
// or with a transaction of the desk's own; what may be lost (Redis, waiting programs, counters) follows after the commit.
import type { Database, Tx } from '../../../core/db/database.ts'
import type { Events } from '../../../core/events/events.ts'
import type { Outbox } from '../../../core/outbox/outbox.ts'
import { sendEffects, type Effect } from '../../../core/ledger/effects.ts'
import type { DeskMetrics, TaskOutcome } from '../metrics.ts'
import { queueForMirror } from '../redis-mirror/mirror-delivery.ts'
import type { Mirror, MirrorChange } from '../redis-mirror/mirror.ts'
import { storeSession, type NewSession } from '../sessions/session-store.ts'
import type { SessionWaits } from '../sessions/session-waits.ts'
import type { TaskCallback, TaskCallbacks } from '../solutions/callbacks.ts'
import { auditEffect, type AuditLine } from './audit.ts'
import { eventEffect, type DeskEvent } from './events.ts'

export interface DeskChange {
  /** Written before the row changes: it reads how long the task waited or was held. */
  audit?: AuditLine
  /** The change of the task's row. */
  row?: Effect
  /** Stored with it. */
  session?: NewSession
  events?: readonly DeskEvent[]
  /** The creator is told how the task ended. */
  callback?: TaskCallback | null
  mirror?: readonly MirrorChange[]
  outcome?: TaskOutcome
  /** How long the task waited for its claim; how long it was held when it was solved. */
  waitedSec?: number | null
  heldSec?: number | null
}

export interface Changes {
  /** For a transition of the ledger; `committed` follows if the ledger applied it. */
  effects(change: DeskChange): Effect[]
  committed(change: DeskChange): void
  /** For a transition that another process may commit, a command among them: Redis learns of it through the outbox. */
  effectsElsewhere(change: DeskChange): Effect[]
  /** Changes that the ledger has no part in. `decide` locks the rows that it judges and answers with what changes. */
  transact<Change extends DeskChange>(decide: (tx: Tx) => Promise<readonly Change[]>): Promise<readonly Change[]>
}

export interface ChangesParts {
  database: Database
  events: Events
  mirror: Mirror
  sessionWaits: SessionWaits
  callbacks: TaskCallbacks
  counts: DeskMetrics
  outbox: Outbox
}

export function openChanges(parts: ChangesParts): Changes {
  const { database, events, mirror, sessionWaits, callbacks, counts, outbox } = parts

  const effects = ({ audit, row, session, events: told = [], callback }: DeskChange): Effect[] => [
    ...(audit === undefined ? [] : [auditEffect(audit)]),
    ...(row === undefined ? [] : [row]),
    ...(session === undefined ? [] : [storeSession(session)]),
    ...told.map((event) => eventEffect(events, event)),
    ...(callback === undefined || callback === null ? [] : [callbacks.queue(callback)]),
  ]

  const committed = (change: DeskChange) => {
    mirror.publish(change.events ?? [])
    mirror.apply(change.mirror ?? [])
    if (change.session !== undefined) sessionWaits.announce(change.session)
    if (change.outcome !== undefined) counts.tasks.inc({ outcome: change.outcome })
    if (change.waitedSec !== undefined && change.waitedSec !== null) counts.claim.observe(change.waitedSec)
    if (change.heldSec !== undefined && change.heldSec !== null) counts.solve.observe(change.heldSec)
  }

  return {
    effects,
    committed,
    effectsElsewhere: (change) => [
      ...effects(change),
      ...(mirror.isThere ? (change.events ?? []).map((event) => queueForMirror(outbox, event)) : []),
    ],
    async transact(decide) {
      const changes = await database.transaction(async (tx) => {
        const decided = await decide(tx)
        sendEffects(tx, decided.flatMap(effects))
        return decided
      })
      if (changes.length > 0) outbox.wake()
      for (const change of changes) committed(change)
      return changes
    },
  }
}
