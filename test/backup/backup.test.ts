import assert from 'node:assert/strict'
import { readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { copyDatabase } from '../../src/core/backup/copy-database.ts'
import { restore } from '../../src/core/backup/restore.ts'
import { verifyBackup } from '../../src/core/backup/verify.ts'
import { migrate } from '../../src/core/db/migrate.ts'
import { migrationFolders } from '../../src/doors/outline.ts'
import { describeSchema } from '../schema/describe-schema.ts'
import { newAccount, startReeve, urlOf } from '../support/reeve.ts'
import { temporaryFolder } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { backupOf, contentsOf, emptyPlace, filledServer, namesIn, silent } from './setup.ts'

describe('a backup', () => {
  test('restored into an empty database and folder has every row, file and key, and the same schema', async (t) => {
    const { source, stop, dataDir, database } = await filledServer(t)
    await stop()
    const place = await emptyPlace(t)

    const { path } = await backupOf(t, source)
    const report = await restore(place, path, silent)

    assert.deepEqual(await contentsOf(place.database), await contentsOf(database))
    assert.equal(await describeSchema(place.database), await describeSchema(database))
    const large = await place.files.get('extra/large')
    assert(large !== null)
    assert.equal((await buffer(large)).length, 3_000_000)
    assert.deepEqual(await readFile(join(place.dataDir, 'desk.key')), await readFile(join(dataDir, 'desk.key')))
    assert(report.tables > 40 && report.files >= 1)
    assert.equal((await stat(path)).mode & 0o777, 0o600)
  })

  test('sets the time of the last backup in the metrics', async (t) => {
    const { source, url } = await filledServer(t)
    // A scrape leaves out what the database does not answer in time.
    const last = async () => {
      let value: number | null = null
      await until('it is in the metrics', async () => {
        const body = await (await fetch(`${url}/metrics/prometheus`)).text()
        const said = /^reeve_last_backup_timestamp_seconds (\S+)$/m.exec(body)?.[1]
        if (said !== undefined) value = Number(said)
        return value !== null
      })
      return value ?? assert.fail()
    }
    const before = await last()

    await backupOf(t, source)

    assert.equal(before, 0)
    assert((await last()) > 1_700_000_000)
  })

  test('that was restored runs a server, whose new rows get ids after the old ones', async (t) => {
    const { source, accountId } = await filledServer(t)
    const place = await emptyPlace(t)
    const { path } = await backupOf(t, source)
    await restore(place, path, silent)

    const env = { DATABASE_URL: urlOf(place.at) }
    const { url } = await startReeve(t, {
      on: place.at,
      dataDir: place.dataDir,
      env: { ...env, REEVE_ADMIN_USERNAME: '' },
    }).catch((error: unknown) => assert.fail(String(error)))
    const made = await newAccount(url, 'bob')

    assert(made.accountId > accountId)
  })

  test('is one snapshot: it has all changes of a transaction or none', async (t) => {
    const { source, database, url } = await filledServer(t)
    const { accountId: other } = await newAccount(url, 'bob')
    const place = await emptyPlace(t)
    const set = (n: number) =>
      database.transaction(async (tx) => {
        await tx.query(`update accounts set password_hash = $1 where username = 'bob'`, [String(n)])
        await tx.query(
          `insert into account_usage values ($1, $2) on conflict (account_id) do update set stored_bytes = $2`,
          [other, n],
        )
      })
    await set(0)

    const done = new AbortController()
    const writing = (async () => {
      for (let n = 1; !done.signal.aborted; n += 1) await set(n)
    })()
    const { path } = await backupOf(t, source)
    done.abort()
    await writing
    await restore(place, path, silent)

    const [row] = await place.database.query<{ a: string; b: string }>(
      `select a.password_hash as a, u.stored_bytes::text as b from accounts a join account_usage u using (account_id) where a.username = 'bob'`,
    )
    assert.equal(row?.a, row?.b)
  })

  test('is verified by a restore into a temporary database', async (t) => {
    const { source } = await filledServer(t)
    const { path, report } = await backupOf(t, source)

    const verified = await verifyBackup(path, migrationFolders(), silent)

    assert.equal(verified.tables, report.tables)
    assert.equal(verified.files, report.files)
  })

  test('that was cut short or changed is refused, and leaves the database empty', async (t) => {
    const { source } = await filledServer(t)
    const { path } = await backupOf(t, source)
    const bytes = await readFile(path)
    const damaged = join(await temporaryFolder(t), 'damaged')
    const place = await emptyPlace(t)
    const changed = Buffer.from(bytes)
    changed[Math.floor(bytes.length / 2)] = (changed[Math.floor(bytes.length / 2)] ?? 0) ^ 1

    for (const content of [
      bytes.subarray(0, 10),
      bytes.subarray(0, bytes.length / 2),
      bytes.subarray(0, -1),
      changed,
      Buffer.from('not a backup'),
    ]) {
      await writeFile(damaged, content)
      await assert.rejects(restore(place, damaged, silent), { name: 'BackupError' })
    }

    const [row] = await place.database.query<{ tables: number }>(
      `select count(*)::integer as tables from pg_tables where schemaname = 'public'`,
    )
    assert.equal(row?.tables, 0)
    await truncate(damaged)
    await assert.rejects(restore(place, damaged, silent), { name: 'BackupError' })
    assert.equal(
      (await restore(place, path, silent)).files,
      (await namesIn(path)).filter((name) => name.startsWith('file ')).length,
    )
  })

  test('is refused by a database that is not empty, and by a data folder with another key', async (t) => {
    const { source, database } = await filledServer(t)
    const { path } = await backupOf(t, source)
    const place = await emptyPlace(t)
    await writeFile(join(place.dataDir, 'desk.key'), 'another')
    const before = await contentsOf(database)

    await assert.rejects(restore({ ...place, database }, path, silent), /not empty/)
    await assert.rejects(restore(place, path, silent), /another desk\.key/)

    assert.deepEqual(Object.keys(before), Object.keys(await contentsOf(database)))
    assert.equal(await readFile(join(place.dataDir, 'desk.key'), 'utf8'), 'another')
  })

  test('of another schema is refused with the version that made it', async (t) => {
    const place = await emptyPlace(t)
    const older = await emptyPlace(t)
    await migrate(older.database, migrationFolders())
    await older.database.query(`update migrations set sha256 = 'other' where owner = 'pool'`)
    const { path } = await backupOf(t, older)

    await assert.rejects(restore(place, path, silent), /another schema \(pool\/001_\w+\.sql\): restore it with/)
  })
})

test('one database is copied into another without a file', async (t) => {
  const { database, stop } = await filledServer(t)
  await stop()
  const place = await emptyPlace(t)

  const tables = await copyDatabase(database, place.database, migrationFolders(), silent)

  assert(tables > 40)
  assert.deepEqual(await contentsOf(place.database), await contentsOf(database))
  await assert.rejects(copyDatabase(database, place.database, migrationFolders(), silent), /not empty/)
})
