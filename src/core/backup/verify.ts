// Restores a backup into a scratch place, an embedded database in a temporary folder, reads everything back and compares it with the
// checksums of the backup. Tables are compared as bytes: rows of a fresh table are read in the order in which they were loaded.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from 'pg'
import { openDatabase } from '../db/database.ts'
import type { MigrationFolder } from '../db/migrate.ts'
import { startEmbedded } from '../embedded/server.ts'
import type { FileStore } from '../files/file-store.ts'
import { openFolderStore } from '../files/folder-store.ts'
import { BackupError, readArchive, skip, type EntryHead } from './archive.ts'
import type { BackupProgress } from './backup.ts'
import { readTable } from './dump-tables.ts'
import { restore, type RestoreReport } from './restore.ts'

const SCRATCH_SETTINGS = { fsync: 'off', full_page_writes: 'off', autovacuum: 'off' }

export async function verifyBackup(
  path: string,
  folders: readonly MigrationFolder[],
  progress: BackupProgress,
): Promise<RestoreReport> {
  const dataDir = await mkdtemp(join(tmpdir(), 'reeve-verify-'))
  const server = await startEmbedded({ dataDir, settings: SCRATCH_SETTINGS })
  const database = openDatabase(server.connection, () => {})
  try {
    const files = openFolderStore(join(dataDir, 'files'))
    const report = await restore({ database, folders, files, dataDir }, path, progress)
    const client = await database.connect()
    try {
      await compare(path, client, files)
    } finally {
      await client.end()
    }
    return report
  } finally {
    await database.close()
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}

/** Reads the archive once more: what is compared is what the file says, not what the restore made of it. */
async function compare(path: string, client: Client, files: FileStore): Promise<void> {
  await client.query(`set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set synchronize_seqscans = off`)
  const source = createReadStream(path)
  try {
    for await (const { head, content } of readArchive(source)) {
      if (head.type !== 'table' && head.type !== 'file') {
        await skip(content)
        continue
      }
      const wanted = await hashOf(content)
      const found = await hashOf(await restored(head, client, files))
      if (wanted !== found) throw new BackupError(`The ${head.type} ${head.name} is not the same after a restore.`)
    }
  } finally {
    source.destroy()
  }
}

async function restored(
  head: Extract<EntryHead, { type: 'table' | 'file' }>,
  client: Client,
  files: FileStore,
): Promise<AsyncIterable<Buffer>> {
  if (head.type === 'table') return readTable(client, head.name, head.columns)
  const content = await files.get(head.name)
  if (content === null) throw new BackupError(`The file ${head.name} is not there after a restore.`)
  return content
}

async function hashOf(content: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha256')
  for await (const part of content) hash.update(part)
  return hash.digest('hex')
}
