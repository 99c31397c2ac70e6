import { environment, parseConfig } from '../../core/config.ts'
import type { Database } from '../../core/db/database.ts'
import { migrate, pendingMigrations } from '../../core/db/migrate.ts'
import { locksOf } from '../../core/db/migration-locks.ts'
import { joinOrMakeStorage, joinStorage } from '../../core/db/storage.ts'
import { openLog } from '../../core/log/log.ts'
import { doorSettings, migrationFolders } from '../../doors/outline.ts'
import { print, printJson } from '../terminal.ts'

const NOTHING = 'Nothing to do: the database is up to date.'

export async function migrateCommand(options: { json?: boolean; plan?: boolean }): Promise<void> {
  const { core } = parseConfig(environment(), doorSettings())
  const open = options.plan === true ? joinStorage : joinOrMakeStorage
  const storage = await open(core, openLog({ LOG_LEVEL: 'silent' }))
  try {
    if (options.plan === true) return await showPlan(storage.database, options)
    const applied = await migrate(storage.database, migrationFolders())
    if (options.json === true) return printJson({ applied })
    print(applied.length === 0 ? NOTHING : applied.join('\n'))
  } finally {
    await storage.close()
  }
}

async function showPlan(database: Database, { json }: { json?: boolean }): Promise<void> {
  const pending = await locksOf(database, await pendingMigrations(database, migrationFolders()))
  if (json === true) return printJson({ pending })
  if (pending.length === 0) return print(NOTHING)
  for (const { name, locks } of pending) {
    print(name)
    if (locks.length === 0) print('  locks no table that exists')
    for (const { table, rows, statement, waits } of locks) {
      print(`  ${table}${rows === null ? '' : ` (about ${rows} rows)`}: ${waits} wait for: ${statement}`)
    }
  }
}
