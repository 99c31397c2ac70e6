// An online backup: keys, files, every table in one snapshot, then the files that were added meanwhile. A file is stored before the row
// that names it and never changes, so that no row of the snapshot names a file that the backup lacks.
import { createWriteStream } from 'node:fs'
import { readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Writable } from 'node:stream'
import type { Database } from '../db/database.ts'
import type { FileStore } from '../files/file-store.ts'
import { syncFolder } from '../files/sync-folder.ts'
import { codeOf } from '../values/error-code.ts'
import { VERSION } from '../version.ts'
import { writeArchive, type ArchiveWriter } from './archive.ts'
import { openSnapshot } from './dump-tables.ts'

const RECORD = `insert into backups (started_at, bytes) values ($1, $2)`
const KEY_FILE = /^[\w-]+\.key$/

export interface BackupSource {
  database: Database
  files: FileStore
  /** Its *.key files are part of the backup. */
  dataDir: string
}

export interface BackupReport {
  bytes: number
  tables: number
  files: number
}

/** Told what is being written, and how much of the tables' size is done, in percent. */
export type BackupProgress = (what: string, percent: number) => void

/** Complete, or not there: it is written beside its place and moved when it is on disk. Readable by its owner only. */
export async function backUp(source: BackupSource, path: string, progress: BackupProgress): Promise<BackupReport> {
  const startedAt = (await source.database.query<{ now: string }>('select clock_timestamp()::text as now'))[0]?.now
  const unfinished = `${path}.part`
  await rm(unfinished, { force: true })
  try {
    // Flushed to disk before it is closed.
    const sink = createWriteStream(unfinished, { flags: 'wx', mode: 0o600, flush: true })
    const counts = await writeBackup(source, sink, progress)
    const { size: bytes } = await stat(unfinished)
    await rename(unfinished, path)
    await syncFolder(dirname(path))
    await source.database.query(RECORD, [startedAt, bytes])
    return { bytes, ...counts }
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
}

async function writeBackup({ database, files, dataDir }: BackupSource, sink: Writable, progress: BackupProgress) {
  const archive = writeArchive(sink)
  const snapshot = await openSnapshot(await database.connect(), VERSION)
  try {
    await archive.add(snapshot.about)
    await addKeys(archive, dataDir)
    progress('files', 0)
    const added = new Set<string>()
    await addFiles(archive, files, added)
    const tables = await dumpTables(snapshot, archive, progress)
    await snapshot.close()
    await addFiles(archive, files, added)
    await archive.end()
    return { tables, files: added.size }
  } catch (error) {
    archive.abort(error)
    await snapshot.close().catch(() => {})
    throw error
  }
}

type OpenSnapshot = Awaited<ReturnType<typeof openSnapshot>>

/** Also for a copy from one database into another, without a file. */
export async function dumpTables(
  snapshot: OpenSnapshot,
  archive: ArchiveWriter,
  progress: BackupProgress,
): Promise<number> {
  const total = snapshot.tables.reduce((sum, { pages }) => sum + pages, 0)
  let done = 0
  for (const table of snapshot.tables) {
    progress(table.name, total === 0 ? 100 : Math.floor((100 * done) / total))
    await snapshot.dump(table, archive)
    done += table.pages
  }
  await snapshot.dumpSequences(archive)
  return snapshot.tables.length
}

async function addKeys(archive: ArchiveWriter, dataDir: string): Promise<void> {
  for (const name of (await namesIn(dataDir)).filter((entry) => KEY_FILE.test(entry))) {
    await archive.add({ type: 'key', name }, [await readFile(join(dataDir, name))])
  }
}

/** Those that are not among `added` yet. */
async function addFiles(archive: ArchiveWriter, files: FileStore, added: Set<string>): Promise<void> {
  for await (const name of files.list('')) {
    const content = added.has(name) ? null : await files.get(name)
    if (content === null) continue // added before, or deleted since it was listed
    await archive.add({ type: 'file', name }, content)
    added.add(name)
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}
