import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { DataDirLocked } from '../../src/core/embedded/lock.ts'
import { findRunning, startEmbedded } from '../../src/core/embedded/server.ts'
import { atEnd } from '../support/cleanup.ts'
import { FAST, makeFolder, makeUsedFolder, processesOf, query, start } from './setup.ts'

const SETTINGS = `
  select current_user as user, current_database() as database, current_setting('listen_addresses') as addresses,
         current_setting('server_encoding') as encoding, current_setting('fsync') as fsync,
         current_setting('synchronous_commit') as commit, current_setting('max_connections') as connections,
         (select datlocale from pg_database where datname = 'reeve') as locale`

const mode = async (path: string) => (await stat(path)).mode & 0o777

describe('startEmbedded', () => {
  test('a new data folder becomes a durable, private, UTF-8 database on a socket', async (t) => {
    const dataDir = join(await makeFolder(t), 'data')

    const server = await startEmbedded({ dataDir })
    atEnd(t, () => server.stop())

    assert.deepEqual(await query(server.connection, SETTINGS), [
      {
        user: 'reeve',
        database: 'reeve',
        addresses: '',
        encoding: 'UTF8',
        fsync: 'on',
        commit: 'on',
        connections: '200',
        locale: 'C.UTF-8',
      },
    ])
    assert.equal(server.connection.host, join(dataDir, 'run'))
    for (const folder of ['', 'run', 'postgres']) assert.equal(await mode(join(dataDir, folder)), 0o700)
  })

  test('what was committed is there after stop and start, and stop leaves no process', async (t) => {
    const dataDir = await makeUsedFolder(t)
    const first = await start(t, dataDir)
    await query(first.connection, 'create table kept as select 7 as n')

    await Promise.all([first.stop(), first.stop()])
    assert.deepEqual(processesOf(dataDir), [])
    assert.deepEqual(await first.exited, { code: 0, signal: null, expected: true })
    const second = await start(t, dataDir)

    assert.deepEqual(await query(second.connection, 'select n from kept'), [{ n: 7 }])
    await first.stop()
    assert.deepEqual(await query(second.connection, `select current_setting('fsync') as fsync`), [{ fsync: 'off' }])
  })

  test('a stop with a transaction open ends it and returns', async (t) => {
    const server = await start(t, await makeUsedFolder(t))
    const asleep = query(server.connection, 'select pg_sleep(60)')
    asleep.catch(() => {})
    while ((await query(server.connection, `select from pg_stat_activity where wait_event = 'PgSleep'`)).length === 0);

    await server.stop()

    await assert.rejects(asleep)
  })

  test('a data folder whose path is too long for a socket gets a short private one', async (t) => {
    const dataDir = join(await makeFolder(t), 'd'.repeat(60), 'e'.repeat(60))

    const server = await start(t, dataDir)

    assert.deepEqual(await query(server.connection, 'select 1 as one'), [{ one: 1 }])
    atEnd(t, () => rm(server.connection.host, { recursive: true }))
    assert(!server.connection.host.startsWith(dataDir))
    assert.equal(await mode(server.connection.host), 0o700)
    assert.deepEqual(await findRunning(dataDir), server.connection)
  })

  test('a second start is refused and does not disturb the first', async (t) => {
    const dataDir = await makeUsedFolder(t)
    const server = await start(t, dataDir)

    await assert.rejects(startEmbedded({ dataDir, settings: FAST }), DataDirLocked)

    assert.deepEqual(await query(server.connection, 'select 1 as one'), [{ one: 1 }])
  })

  test('a server that dies by itself is reported, and the next start recovers', async (t) => {
    const dataDir = await makeUsedFolder(t)
    const server = await start(t, dataDir)
    await query(server.connection, 'create table kept as select 7 as n')

    process.kill(server.pid, 'SIGKILL')
    const exit = await server.exited
    const next = await start(t, dataDir)

    assert.deepEqual(exit, { code: null, signal: 'SIGKILL', expected: false })
    assert.deepEqual(await query(next.connection, 'select n from kept'), [{ n: 7 }])
  })

  test('a pid file whose number belongs to another process by now does not block the start', async (t) => {
    const dataDir = await makeUsedFolder(t)
    await (await start(t, dataDir)).stop()
    const stale = [process.pid, join(dataDir, 'postgres'), 1, 5432, join(dataDir, 'run'), '', '1 1', 'ready', '']
    await writeFile(join(dataDir, 'postgres', 'postmaster.pid'), stale.join('\n'))
    await writeFile(join(dataDir, 'run', '.s.PGSQL.5432.lock'), stale.join('\n'))

    assert.equal(await findRunning(dataDir), null)
    const server = await start(t, dataDir)

    assert.deepEqual(await query(server.connection, 'select 1 as one'), [{ one: 1 }])
  })

  test('a cluster that was left incomplete is removed and made again', async (t) => {
    const dataDir = await makeFolder(t)
    await mkdir(join(dataDir, 'postgres.new-abcdef', 'base'), { recursive: true })

    await start(t, dataDir)

    assert.deepEqual(
      (await readdir(dataDir)).filter((name) => name.startsWith('postgres.new-')),
      [],
    )
  })

  test('a setting that PostgreSQL refuses is named in the error, and the folder is free again', async (t) => {
    const dataDir = await makeUsedFolder(t)

    await assert.rejects(startEmbedded({ dataDir, settings: { max_connections: 'many' } }), /max_connections/)

    await start(t, dataDir)
  })
})

describe('findRunning', () => {
  test('finds a server only while it runs', async (t) => {
    const dataDir = await makeUsedFolder(t)
    assert.equal(await findRunning(join(dataDir, 'missing')), null)
    assert.equal(await findRunning(dataDir), null)

    const server = await start(t, dataDir)
    assert.deepEqual(await findRunning(dataDir), server.connection)
    await server.stop()

    assert.equal(await findRunning(dataDir), null)
  })
})

test('a cluster of another major is refused with the remedy, and is left as it is', async (t) => {
  const dataDir = join(await makeFolder(t), 'data')
  await (await startEmbedded({ dataDir, log: () => {} })).stop()
  const file = join(dataDir, 'postgres', 'PG_VERSION')
  await writeFile(file, '17\n')

  await assert.rejects(
    startEmbedded({ dataDir, log: () => {} }),
    /was made by PostgreSQL 17, and this version of Reeve has PostgreSQL 18\..*reeve backup FILE.*reeve restore FILE/,
  )
  assert.equal(await readFile(file, 'utf8'), '17\n')
})
