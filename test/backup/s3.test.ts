import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { restore } from '../../src/core/backup/restore.ts'
import { openDatabase } from '../../src/core/db/database.ts'
import { migrationFolders } from '../../src/doors/outline.ts'
import { setupS3 } from '../files/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { reusedDatabase } from '../support/database.ts'
import { temporaryFolder } from '../support/servers.ts'
import { backupOf, emptyPlace, silent } from './setup.ts'

test('files in S3 are in the backup, and are restored into S3', async (t) => {
  const database = openDatabase(await reusedDatabase(t, migrationFolders()), () => {})
  atEnd(t, () => database.close())
  const { store: files } = await setupS3(t)
  const large = randomBytes(6_000_000)
  await files.put('problems/large', large)
  await files.put('previews/none', Buffer.alloc(0))
  const place = await emptyPlace(t)
  const { store: elsewhere } = await setupS3(t)

  const { path, report } = await backupOf(t, { database, files, dataDir: await temporaryFolder(t) })
  await restore({ ...place, files: elsewhere }, path, silent)

  assert.equal(report.files, 2)
  const restored = await elsewhere.get('problems/large')
  assert(restored !== null && large.equals(await buffer(restored)))
  assert.deepEqual(await elsewhere.stat('previews/none'), { bytes: 0 })
})
