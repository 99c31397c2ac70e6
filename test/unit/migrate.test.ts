import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { openDatabase } from '../../src/core/db/database.ts'
import { migrate } from '../../src/core/db/migrate.ts'
import { atEnd } from '../support/cleanup.ts'
import { freshDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const WAITING = `select from pg_locks where not granted and relation = 'accounts'::regclass`

/** An empty database, and a folder of migrations to write to. */
async function setup(t: TestContext) {
  const at = await freshDatabase([])
  const open = () => {
    const database = openDatabase(at, () => {})
    atEnd(t, () => database.close())
    return database
  }
  const folderPath = await mkdtemp(path.join(tmpdir(), 'reeve-migrate-'))
  atEnd(t, () => rm(folderPath, { recursive: true }))
  const write = (name: string, sql: string) => writeFile(path.join(folderPath, name), sql)
  const remove = (name: string) => rm(path.join(folderPath, name))
  const folders = [{ owner: 'desk', folder: pathToFileURL(`${folderPath}/`) }]
  return { database: open(), open, write, remove, folders }
}

describe('migrate', () => {
  test('missing migrations are applied in the order of their names, and a second run applies none', async (t) => {
    const { database, folders, write } = await setup(t)
    await write('002_fill.sql', `insert into things values (1); insert into things values (2);`)
    await write('001_make.sql', `create table things (n integer);`)
    await write('notes.txt', `not a migration`)

    const first = await migrate(database, folders)
    const again = await migrate(database, folders)
    await write('003_more.sql', `insert into things values (3);`)
    const later = await migrate(database, folders)

    assert.deepEqual(first, ['desk/001_make.sql', 'desk/002_fill.sql'])
    assert.deepEqual(again, [])
    assert.deepEqual(later, ['desk/003_more.sql'])
    assert.deepEqual(await database.query('select n from things order by n'), [{ n: 1 }, { n: 2 }, { n: 3 }])
  })

  test('several migrations together lock their tables in the order of requests, before the first is applied', async (t) => {
    const { database, open, folders, write } = await setup(t)
    await write('001_make.sql', `create table accounts (n integer); create table jobs (n integer);`)
    await migrate(database, folders)
    await write('002_jobs.sql', `alter table jobs add column note text;`)
    await write('003_accounts.sql', `alter table accounts add column note text;`)
    const asking = open()

    const migrating = await asking.transaction(async (tx) => {
      await tx.query('insert into accounts values (1)')
      const migrating = migrate(database, folders)
      await until('it waits for the request', async () => (await tx.query(WAITING)).length === 1)
      await tx.query('insert into jobs values (1)') // a deadlock, if jobs were locked
      return { applied: migrating }
    })

    assert.deepEqual(await migrating.applied, ['desk/002_jobs.sql', 'desk/003_accounts.sql'])
  })

  test('applied migrations are tracked per owner', async (t) => {
    const { database, folders, write } = await setup(t)
    await write('001_make.sql', `select 1`)
    await migrate(database, folders)

    const applied = await migrate(database, [...folders, ...folders.map(({ folder }) => ({ owner: 'pool', folder }))])

    assert.deepEqual(applied, ['pool/001_make.sql'])
  })

  test('a migration that was changed after it had been applied is refused, and nothing is applied', async (t) => {
    const { database, folders, write } = await setup(t)
    await write('001_make.sql', `create table things (n integer)`)
    await migrate(database, folders)
    await write('001_make.sql', `create table things (n bigint)`)
    await write('000_before.sql', `create table others (n integer)`)

    const refusal = /desk\/001_make\.sql was changed after it had been applied.*Use an empty database/s
    await assert.rejects(migrate(database, folders), refusal)

    assert.deepEqual(await database.query(`select to_regclass('others') as others`), [{ others: null }])
  })

  test('a database that is ahead of this version is refused', async (t) => {
    const { database, folders, write, remove } = await setup(t)
    await write('001_make.sql', `create table things (n integer)`)
    await write('002_newer.sql', `alter table things add m integer`)
    await migrate(database, folders)
    await remove('002_newer.sql')

    await assert.rejects(
      migrate(database, folders),
      /desk\/002_newer\.sql, which this version of Reeve does not know. Use a newer Reeve/,
    )
  })

  test('a database of an older schema, whose migrations were merged since, is refused with what to do', async (t) => {
    const { database, folders, write, remove } = await setup(t)
    await write('001_make.sql', `create table things (n integer)`)
    await write('002_more.sql', `alter table things add m integer`)
    await migrate(database, folders)
    await remove('001_make.sql')
    await remove('002_more.sql')
    await write('001_desk.sql', `create table others (n integer, m integer)`)

    const refusal = /desk\/001_make\.sql.*made by another version.*Use an empty database.*REEVE_DATA_DIR/s
    await assert.rejects(migrate(database, folders), refusal)

    assert.deepEqual(await database.query(`select to_regclass('others') as others`), [{ others: null }])
  })

  test('a migration that fails leaves nothing of those before it', async (t) => {
    const { database, folders, write } = await setup(t)
    await write('001_make.sql', `create table things (n integer)`)
    await write('002_break.sql', `insert into nothing values (1)`)

    await assert.rejects(migrate(database, folders), /"nothing" does not exist/)

    assert.deepEqual(await database.query(`select to_regclass('things') as things`), [{ things: null }])
    assert.deepEqual(await database.query('select name from migrations'), [])
  })

  test('servers that start together apply each migration once', async (t) => {
    const { open, folders, write } = await setup(t)
    await write('001_make.sql', `create table things (n integer); insert into things values (1);`)
    const servers = [open(), open(), open(), open()]

    const applied = await Promise.all(servers.map((database) => migrate(database, folders)))

    assert.deepEqual(applied.flat(), ['desk/001_make.sql'])
    assert.deepEqual(await servers[0]?.query('select n from things'), [{ n: 1 }])
  })
})
