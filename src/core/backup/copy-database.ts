// One database into another, without a file between them: the backup's archive flows through a pipe. Files and keys are not part of it.
import { PassThrough } from 'node:stream'
import type { Database } from '../db/database.ts'
import type { MigrationFolder } from '../db/migrate.ts'
import { VERSION } from '../version.ts'
import { writeArchive } from './archive.ts'
import { dumpTables, type BackupProgress } from './backup.ts'
import { openSnapshot } from './dump-tables.ts'
import { restoreTables } from './restore.ts'

/** Resolves to the number of tables. Nothing is in the target unless everything is. */
export async function copyDatabase(
  source: Database,
  target: Database,
  folders: readonly MigrationFolder[],
  progress: BackupProgress,
): Promise<number> {
  const pipe = new PassThrough()
  const restored = restoreTables({ database: target, folders }, pipe)
  const dumped = dump(source, pipe, progress)
  const [{ tables }] = await Promise.all([
    restored.catch((error: unknown) => {
      pipe.destroy(error instanceof Error ? error : new Error(String(error)))
      throw error
    }),
    dumped,
  ])
  return tables
}

async function dump(source: Database, pipe: PassThrough, progress: BackupProgress): Promise<void> {
  const snapshot = await openSnapshot(await source.connect(), VERSION)
  const archive = writeArchive(pipe)
  try {
    await archive.add(snapshot.about)
    await dumpTables(snapshot, archive, progress)
    await archive.end()
  } catch (error) {
    archive.abort(error)
    throw error
  } finally {
    await snapshot.close()
  }
}
