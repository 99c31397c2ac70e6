import { environment, parseConfig } from '../../core/config.ts'
import { openLog } from '../../core/log/log.ts'
import { migrate } from '../../core/db/migrate.ts'
import { joinOrMakeStorage } from '../../core/db/storage.ts'
import { doorSettings, migrationFolders } from '../../doors/outline.ts'
import { print, printJson } from '../terminal.ts'

export async function migrateCommand(options: { json?: boolean }): Promise<void> {
  const { core } = parseConfig(environment(), doorSettings())
  const storage = await joinOrMakeStorage(core, openLog({ LOG_LEVEL: 'silent' }))
  try {
    const applied = await migrate(storage.database, migrationFolders())
    if (options.json === true) return printJson({ applied })
    print(applied.length === 0 ? 'Nothing to do: the database is up to date.' : applied.join('\n'))
  } finally {
    await storage.close()
  }
}
