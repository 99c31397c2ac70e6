import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFolder, makeUsedFolder, processesOf, query, start, startPeer, untilNoProcess } from './setup.ts'

const PROMPTLY_MS = 5000

/** Keepers are the shells among the processes of a data folder. */
const isShell = (pid: number) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'sh'

describe('a killed Reeve', () => {
  test('takes its server with it', async (t) => {
    const dataDir = await makeUsedFolder(t)
    const peer = startPeer(t, dataDir, { does: 'serve' })
    await peer.next()

    await peer.kill('SIGKILL')
    const goneMs = await untilNoProcess(dataDir)

    assert(goneMs < PROMPTLY_MS, `it took ${goneMs} ms`)
  })

  test('does not block an immediate restart, however often, and loses nothing that was committed', async (t) => {
    const dataDir = await makeUsedFolder(t)
    for (let round = 1; round <= 4; round++) {
      const peer = startPeer(t, dataDir, { does: 'serve' })
      const { refused, host, port, user, database } = await peer.next()
      assert.equal(refused, undefined)
      const connection = { host: String(host), port: Number(port), user: String(user), database: String(database) }
      await query(connection, `create table if not exists kept (n int); insert into kept values (${round})`)
      query(connection, 'select pg_sleep(60)').catch(() => {}) // a backend that is busy when the kill comes
      await peer.kill('SIGKILL')
    }

    const server = await start(t, dataDir)

    assert.deepEqual(await query(server.connection, 'select count(*)::int as rows from kept'), [{ rows: 4 }])
  })

  test('leaves a folder that can be started, at whatever point of its first start it was killed', async (t) => {
    const dataDir = await makeFolder(t)
    for (const afterMs of [300, 500, 700, 900, 1200, 1500, 1800, 2200]) {
      const peer = startPeer(t, dataDir, { does: 'serve' })
      await sleep(afterMs) // the moment of the kill is what is tested
      await peer.kill('SIGKILL')
    }

    const server = await start(t, dataDir)

    assert.deepEqual(await query(server.connection, 'select 1 as one'), [{ one: 1 }])
  })

  test('leaves an orphan if the keeper was killed, too; the next start stops it', async (t) => {
    const dataDir = await makeUsedFolder(t)
    const peer = startPeer(t, dataDir, { does: 'serve' })
    const { pid } = await peer.next()
    const keepers = processesOf(dataDir).filter(isShell)
    assert.equal(keepers.length, 1)
    for (const keeper of keepers) process.kill(keeper, 'SIGKILL')
    await peer.kill('SIGKILL')
    assert(processesOf(dataDir).includes(Number(pid)))

    const server = await start(t, dataDir)

    assert.notEqual(server.pid, pid)
    assert(!processesOf(dataDir).includes(Number(pid)))
  })
})

test('Ctrl-C, which reaches the whole process group, leaves the database to the drain', async (t) => {
  const dataDir = await makeUsedFolder(t)
  const peer = startPeer(t, dataDir, { does: 'serve' })
  await peer.next()

  process.kill(-peer.pid, 'SIGINT')

  assert.deepEqual(await peer.next(), { drained: 1 })
  await untilNoProcess(dataDir)
})

test('a second Reeve is refused and the first goes on', async (t) => {
  const dataDir = await makeUsedFolder(t)
  const first = startPeer(t, dataDir, { does: 'serve' })
  const { host } = await first.next()

  const { name, refused } = await startPeer(t, dataDir, { does: 'serve' }).next()

  assert.equal(name, 'DataDirLocked')
  assert.match(String(refused), new RegExp(`in use by Reeve process ${first.pid}`))
  assert.deepEqual(await query({ host: String(host), user: 'reeve' }, 'select 1 as one'), [{ one: 1 }])
  await first.kill('SIGKILL')
})
