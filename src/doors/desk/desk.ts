// The parts that the desk opens once (door.ts). Whoever uses some of them names them: `Pick<Desk, 'tasks' | 'locks'>`.
import type { Logger } from 'pino'
import type { Config } from '../../core/config.ts'
import type { Database } from '../../core/db/database.ts'
import type { Events } from '../../core/events/events.ts'
import type { FileStore } from '../../core/files/file-store.ts'
import type { Identity } from '../../core/identity/identity.ts'
import type { Ledger } from '../../core/ledger/ledger.ts'
import type { Quota } from '../../core/quotas/quota.ts'
import type { Changes } from './changes/change.ts'
import type { Proxies } from './domains/proxies.ts'
import type { DeskMetrics } from './metrics.ts'
import type { SessionReader } from './sessions/session-store.ts'
import type { SessionWaits } from './sessions/session-waits.ts'
import type { DeskSettings } from './settings.ts'
import type { TaskCallbacks } from './solutions/callbacks.ts'
import type { Sealer } from './solutions/seal.ts'
import type { TaskStore } from './tasks/task-store.ts'
import type { TaskWaits } from './tasks/task-waits.ts'

export interface Desk {
  config: Config
  settings: DeskSettings
  log: Logger
  database: Database
  ledger: Ledger
  events: Events
  identity: Identity
  sealer: Sealer
  proxies: Proxies
  previews: FileStore
  tasks: TaskStore
  taskWaits: TaskWaits
  sessions: SessionReader
  sessionWaits: SessionWaits
  changes: Changes
  callbacks: TaskCallbacks
  /** How many open tasks an account may have. */
  openTasks: Quota
  counts: DeskMetrics
}
