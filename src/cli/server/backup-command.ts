// `reeve backup`, `reeve restore` and `reeve move`.
import { existsSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { backUp, type BackupReport, type BackupProgress } from '../../core/backup/backup.ts'
import { copyDatabase } from '../../core/backup/copy-database.ts'
import { restore, type RestoreReport } from '../../core/backup/restore.ts'
import { verifyBackup } from '../../core/backup/verify.ts'
import { databaseUrl, environment, parseConfig, type Config } from '../../core/config.ts'
import { openDatabase } from '../../core/db/database.ts'
import { joinStorage, openExisting, openStorage } from '../../core/db/storage.ts'
import { openFiles } from '../../core/files/open-files.ts'
import { openLog } from '../../core/log/log.ts'
import { doorSettings, migrationFolders } from '../../doors/outline.ts'
import { CommandFailed } from '../failure.ts'
import { plain, print, printJson, say } from '../terminal.ts'

const SAY_EVERY_MS = 2000

const configured = (): Config => parseConfig(environment(), doorSettings()).core
const silent = () => openLog({ LOG_LEVEL: 'silent' })

export async function backupCommand(
  file: string,
  options: { force?: boolean; verify?: boolean; json?: boolean },
): Promise<void> {
  if (existsSync(file) && options.force !== true) throw new CommandFailed(`${plain(file)} exists: use --force.`)
  const config = configured()
  const storage = await joinStorage(config, silent())
  let report: BackupReport
  try {
    const source = { database: storage.database, files: openFiles(config).files, dataDir: config.REEVE_DATA_DIR }
    report = await backUp(source, file, progressOf('backup'))
  } finally {
    await storage.close()
  }
  if (options.verify === true) await verifyBackup(file, migrationFolders(), progressOf('verify'))
  const verified = options.verify === true
  if (options.json === true) return printJson({ file, ...report, verified })
  print(
    `${plain(file)}: ${report.bytes} bytes, ${report.tables} tables, ${report.files} files${verified ? ', verified' : ''}`,
  )
}

export async function restoreCommand(file: string, options: { verify?: boolean; json?: boolean }): Promise<void> {
  await access(file).catch(() => {
    throw new CommandFailed(`${plain(file)} cannot be read.`)
  })
  const report = options.verify === true ? await verify(file) : await restoreHere(file)
  const { about, tables, files } = report
  if (options.json === true) return printJson({ file, reeve: about.reeve, made_at: about.at, tables, files })
  const what = `${tables} tables and ${files} files of ${plain(about.at)}`
  print(options.verify === true ? `${plain(file)} is complete: ${what}` : `Restored ${what}.`)
}

const verify = (file: string): Promise<RestoreReport> => verifyBackup(file, migrationFolders(), progressOf('verify'))

async function restoreHere(file: string): Promise<RestoreReport> {
  const config = configured()
  const storage = await openStorage(config, silent())
  try {
    const { files } = openFiles(config)
    const target = { database: storage.database, folders: migrationFolders(), files, dataDir: config.REEVE_DATA_DIR }
    return await restore(target, file, progressOf('restore'))
  } finally {
    await storage.close()
  }
}

/** The lock of the data folder is held: no server writes to what is copied. */
export async function moveCommand(url: string, options: { json?: boolean }): Promise<void> {
  const config = configured()
  if (databaseUrl(config) !== null) {
    throw new CommandFailed(
      'DATABASE_URL is set: reeve move copies the embedded database. Use reeve backup and reeve restore.',
      2,
    )
  }
  if (!URL.canParse(url)) throw new CommandFailed('Expected postgres://user:password@host:5432/database.', 2)
  const storage = await openExisting(config, silent())
  const target = openDatabase(url, () => {})
  try {
    const tables = await copyDatabase(storage.database, target, migrationFolders(), progressOf('move'))
    if (options.json === true) printJson({ tables })
    else print(`${tables} tables copied. Set DATABASE_URL; files and keys stay in ${config.REEVE_DATA_DIR}.`)
  } finally {
    await target.close()
    await storage.close()
  }
}

/** The first line at once, then one every two seconds, beside the output. */
function progressOf(what: string): BackupProgress {
  let saidAt = -Infinity
  return (item, percent) => {
    if (performance.now() - saidAt < SAY_EVERY_MS) return
    saidAt = performance.now()
    say(`${what}: ${percent} % ${plain(item)}`)
  }
}
