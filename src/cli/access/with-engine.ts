// What a command needs of a deployment: its database, through the running server's if there is one.
import type { Logger } from 'pino'
import { environment, parseConfig, type AllSettings, type Config } from '../../core/config.ts'
import type { Database } from '../../core/db/database.ts'
import { openEngine, type Engine } from '../../core/engine.ts'
import { openIdentity, type Identity } from '../../core/identity/identity.ts'
import { openLog } from '../../core/log/log.ts'
import { openMetrics, type Metrics } from '../../core/metrics.ts'
import { migrate } from '../../core/db/migrate.ts'
import { joinStorage } from '../../core/db/storage.ts'
import { doorSettings, migrationFolders, streamKeys } from '../../doors/outline.ts'
import { issueToken } from '../../core/identity/tokens.ts'
import { CommandFailed } from '../failure.ts'
import { plain } from '../terminal.ts'

export interface CommandDeps {
  config: Config
  database: Database
  engine: Engine
  identity: Identity
  log: Logger
}

const TOKEN_SEC = 3600

export async function tokenFor(
  username: string,
  { database, identity }: Pick<CommandDeps, 'database' | 'identity'>,
): Promise<string> {
  const account = await identity.findAccount(username)
  if (account === null) throw new CommandFailed(`There is no account ${plain(username)}: use --as.`)
  const issued = await issueToken(database, { accountId: account.accountId, ttlSec: TOKEN_SEC })
  if (issued === null) throw new CommandFailed(`The account ${plain(username)} is closed.`)
  return issued.token
}

export function withEngine<T>(work: (deps: CommandDeps) => Promise<T>): Promise<T> {
  return withSettings(async (_settings, deps) => work(deps))
}

export async function withSettings<T>(
  work: (settings: AllSettings, deps: CommandDeps, metrics: Metrics) => Promise<T>,
): Promise<T> {
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
