// What a command needs of a deployment: its database, through the running server's if there is one.
import type { Logger } from 'pino'
import { CloseStack } from '../core/concurrency/close-stack.ts'
import { systemClock } from '../core/clock.ts'
import { environment, parseConfig, type AllSettings, type Config } from '../core/config.ts'
import type { Database } from '../core/db/database.ts'
import { openEngine, type Engine } from '../core/engine.ts'
import { openFiles } from '../core/files/open-files.ts'
import { echo } from '../core/executor/echo.ts'
import { openIdentity, type Identity } from '../core/identity/identity.ts'
import { openLog } from '../core/log/log.ts'
import { openMetrics, type Metrics } from '../core/metrics.ts'
import { migrate } from '../core/db/migrate.ts'
import { Capabilities } from '../core/capabilities.ts'
import { joinStorage } from '../core/db/storage.ts'
import { doorSettings, migrationFolders, streamKeys } from '../doors/outline.ts'

export interface CommandDeps {
  config: Config
  database: Database
  engine: Engine
  identity: Identity
  log: Logger
}

export function withEngine<T>(work: (deps: CommandDeps) => Promise<T>): Promise<T> {
  return opened(async (_settings, deps) => work(deps))
}

/** With the kinds of all open doors: for what ends or begins a job, which its door takes part in. */
export function withDoors<T>(work: (deps: CommandDeps) => Promise<T>): Promise<T> {
  return opened(async (settings, deps, metrics) => {
    const { engine, config } = deps
    const { files } = openFiles(config)
    const { openDoors } = await import('../main.ts')
    const closing = new CloseStack(deps.log)
    try {
      const more = { files, metrics, clock: systemClock, offers: new Capabilities() }
      const doors = await openDoors({ ...engine, ...deps, ...more }, settings, closing)
      engine.kinds.add([echo, ...doors.flatMap(({ opened }) => opened.kinds ?? [])])
      return await work(deps)
    } finally {
      await closing.close()
    }
  })
}

async function opened<T>(work: (settings: AllSettings, deps: CommandDeps, metrics: Metrics) => Promise<T>): Promise<T> {
  const settings = parseConfig(environment(), doorSettings())
  const { core: config } = settings
  const log = openLog({ LOG_LEVEL: 'silent' })
  const storage = await joinStorage(config, log)
  try {
    const { database } = storage
    await migrate(database, migrationFolders())
    const metrics = openMetrics()
    const engine = await openEngine({ config, database, metrics, log, streamKeys: streamKeys(settings) })
    try {
      return await work(
        settings,
        { config, database, engine, identity: openIdentity({ database, config }), log },
        metrics,
      )
    } finally {
      await engine.close()
    }
  } finally {
    await storage.close()
  }
}
