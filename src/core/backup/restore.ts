// A backup into an empty place: an empty database, a data folder without other keys. Files and keys are put as they come, the tables
// become visible with the last entry: a restore that was killed is simply run again.
import { createReadStream } from 'node:fs'
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Database } from '../db/database.ts'
import type { MigrationFolder } from '../db/migrate.ts'
import type { FileStore } from '../files/file-store.ts'
import { codeOf } from '../values/error-code.ts'
import { BackupError, readArchive, skip, type ArchiveEntry, type EntryHead } from './archive.ts'
import { beginLoading } from './load-tables.ts'
import type { BackupProgress } from './backup.ts'

export interface TablesTarget {
  database: Database
  folders: readonly MigrationFolder[]
}

export interface RestoreTarget extends TablesTarget {
  files: FileStore
  dataDir: string
}

export interface RestoreReport {
  about: Extract<EntryHead, { type: 'about' }>
  tables: number
  files: number
}

export async function restore(target: RestoreTarget, path: string, progress: BackupProgress): Promise<RestoreReport> {
  const { size } = await stat(path)
  const source = createReadStream(path)
  const percent = () => (size === 0 ? 0 : Math.floor((100 * source.bytesRead) / size))
  return restoreEntries(target, source, async ({ head, content }) => {
    if ('name' in head) progress(head.name, percent())
    if (head.type === 'key') await putKey(target.dataDir, head.name, content)
    else if (head.type === 'file') await target.files.put(head.name, Readable.from(content))
    else await skip(content)
  })
}

/** An archive of tables only. */
export const restoreTables = (target: TablesTarget, source: Readable): Promise<RestoreReport> =>
  restoreEntries(target, source, ({ content }) => skip(content))

/** Loads the tables; `put` gets the other entries. */
async function restoreEntries(
  { database, folders }: TablesTarget,
  source: Readable,
  put: (entry: ArchiveEntry) => Promise<void>,
): Promise<RestoreReport> {
  const client = await database.connect()
  try {
    const entries = readArchive(source)
    const about = await readAbout(entries)
    const loading = await beginLoading(client, folders, about)
    const report = { about, tables: 0, files: 0 }
    for await (const entry of entries) {
      const { head, content } = entry
      if (head.type === 'table') {
        await loading.load(head, content)
        report.tables += 1
      } else {
        await put(entry)
        if (head.type === 'file') report.files += 1
        if (head.type === 'sequences') await loading.setSequences(head)
      }
    }
    await loading.commit()
    return report
  } finally {
    source.destroy()
    await client.end()
  }
}

async function readAbout(entries: AsyncGenerator<ArchiveEntry>): Promise<RestoreReport['about']> {
  const first = await entries.next()
  if (first.done === true || first.value.head.type !== 'about')
    throw new BackupError('The backup is damaged: it does not begin with its description.')
  await skip(first.value.content)
  return first.value.head
}

async function putKey(dataDir: string, name: string, content: AsyncIterable<Buffer>): Promise<void> {
  const parts: Buffer[] = []
  for await (const part of content) parts.push(part)
  const key = Buffer.concat(parts)
  const path = join(dataDir, name)
  const existing = await readFile(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  })
  if (existing?.equals(key) === true) return
  if (existing !== null)
    throw new BackupError(`The data folder has another ${name}: a backup is restored into an empty place.`)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await writeFile(`${path}.part`, key, { mode: 0o600, flush: true })
  await rename(`${path}.part`, path)
}
