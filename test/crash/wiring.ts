// What `src/main.ts` opens, without doors and HTTP: for the processes that these tests kill. They tell their parent what
// they do, and end with it.
import { pino, type Logger } from 'pino'
import { parseConfig, type Config } from '../../src/core/config.ts'
import type { Database } from '../../src/core/db/database.ts'
import { openEngine, type Engine } from '../../src/core/engine.ts'
import { openMetrics } from '../../src/core/metrics.ts'
import { openDispatcher, type Dispatcher } from '../../src/core/outbox/dispatcher.ts'
import { openOutboxMetrics } from '../../src/core/outbox/metrics.ts'
import { openStorage } from '../../src/core/db/storage.ts'
import type { Message } from './peer.ts'

export interface Wiring {
  config: Config
  database: Database
  engine: Engine
  outbox: Dispatcher
  log: Logger
  close(): Promise<void>
}

/** Resolves once the parent's pipe has it: a process may die after that. */
export const tell = (message: Message): Promise<void> =>
  new Promise((resolve) => {
    if (process.send === undefined) resolve()
    else process.send(message, undefined, undefined, () => resolve())
  })

export async function openWiring(
  settings: Record<string, string>,
  streamKeys: Record<string, string> = {},
): Promise<Wiring> {
  process.once('disconnect', () => process.exit(1)) // the parent is gone, and nobody else would end this process

  const { core: config } = parseConfig(settings, {})
  const log = pino({ level: 'warn', base: null }, { write: (line: string) => void tell({ what: 'log', line }) })
  const storage = await openStorage(config, log)
  const { database } = storage
  const metrics = openMetrics()
  const engine = await openEngine({ config, database, metrics, log, streamKeys })
  const outbox = openDispatcher(database, engine.topics, openOutboxMetrics(metrics))
  engine.onOutbox(outbox.wake)

  return {
    config,
    database,
    engine,
    outbox,
    log,
    async close() {
      await engine.close()
      await storage.close()
    },
  }
}
