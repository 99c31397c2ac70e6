// A server with something in most of its tables, and empty places to restore into.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { readArchive } from '../../src/core/backup/archive.ts'
import { backUp } from '../../src/core/backup/backup.ts'
import { openDatabase, type Database } from '../../src/core/db/database.ts'
import { openFolderStore } from '../../src/core/files/folder-store.ts'
import { migrationFolders } from '../../src/doors/outline.ts'
import { atEnd } from '../support/cleanup.ts'
import { freshDatabase } from '../support/database.ts'
import { newAccount, startReeve, urlOf } from '../support/reeve.ts'
import { temporaryFolder } from '../support/servers.ts'

export const silent = () => {}

export async function filledServer(t: TestContext) {
  const reeve = await startReeve(t, { doors: 'desk' })
  const { token, accountId } = await newAccount(reeve.url, 'ann "é\\N\t', ['CLIENT', 'ADMIN'])
  const authorization = `Bearer ${token}`
  for (let n = 0; n < 20; n += 1) {
    const body = JSON.stringify({ kind: 'echo', payload: { n, text: 'a\tb\\N\n"\u{1f600}' } })
    const headers = { authorization, 'content-type': 'application/json', 'idempotency-key': `k${n}` }
    const answer = await fetch(`${reeve.url}/admin/jobs`, { method: 'POST', headers, body })
    assert.equal(answer.status, 202, await answer.text())
  }
  const files = openFolderStore(join(reeve.dataDir, 'files'))
  await files.put('extra/large', randomBytes(3_000_000))
  const source = { database: reeve.database, files, dataDir: reeve.dataDir }
  return { ...reeve, accountId, source }
}

export async function emptyPlace(t: TestContext) {
  const at = await freshDatabase([])
  const database = openDatabase(at, () => {})
  atEnd(t, () => database.close())
  await database.query('drop table migrations')
  const dataDir = await temporaryFolder(t)
  const files = openFolderStore(join(dataDir, 'files'))
  return { at, url: urlOf(at), database, folders: migrationFolders(), files, dataDir }
}

export async function backupOf(t: TestContext, source: Parameters<typeof backUp>[0]) {
  const path = join(await temporaryFolder(t), 'reeve.backup')
  return { path, report: await backUp(source, path, silent) }
}

/** The rows of every table, as text, in an order of their own. `backups` differs by the row that says that one was made. */
export async function contentsOf(database: Database): Promise<Record<string, string>> {
  const tables = await database.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' and tablename <> 'backups' order by 1`,
  )
  const contents: Record<string, string> = {}
  for (const { name } of tables) {
    const [row] = await database.query<{ rows: string | null }>(
      `select string_agg(r::text, chr(10) order by r::text) as rows from "${name}" r`,
    )
    contents[name] = row?.rows ?? ''
  }
  return contents
}

export async function namesIn(path: string): Promise<string[]> {
  const names: string[] = []
  for await (const { head, content } of readArchive(createReadStream(path))) {
    for await (const _ of content);
    names.push('name' in head ? `${head.type} ${head.name}` : head.type)
  }
  return names
}
