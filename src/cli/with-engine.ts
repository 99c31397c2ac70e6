// What a command needs of a deployment: its database, through the running server's if there is one.
import type { Logger } from 'pino'
import { environment, parseConfig, type Config } from '../core/config.ts'
import type { Database } from '../core/database.ts'
import { openEngine, type Engine } from '../core/engine.ts'
import { openIdentity, type Identity } from '../core/identity/identity.ts'
import { openLog } from '../core/log.ts'
import { openMetrics } from '../core/metrics.ts'
import { migrate } from '../core/migrate.ts'
import { joinStorage } from '../core/storage.ts'
import { doorSettings } from '../doors/doors.ts'
import { migrationFolders } from '../main.ts'

export interface CommandDeps {
  config: Config
  database: Database
  engine: Engine
  identity: Identity
  log: Logger
}

export async function withEngine<T>(work: (deps: CommandDeps) => Promise<T>): Promise<T> {
  const { core: config } = parseConfig(environment(), doorSettings())
  const log = openLog({ LOG_LEVEL: 'silent' })
  const storage = await joinStorage(config, log)
  try {
    const { database } = storage
    await migrate(database, migrationFolders())
    const engine = await openEngine({ config, database, metrics: openMetrics(), log })
    try {
      return await work({ config, database, engine, identity: openIdentity({ database, config }), log })
    } finally {
      await engine.close()
    }
  } finally {
    await storage.close()
  }
}
