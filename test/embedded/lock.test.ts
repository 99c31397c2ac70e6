import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DataDirLocked, lockDataDir } from '../../src/core/embedded/lock.ts'
import { makeFolder, startPeer } from './setup.ts'

describe('lockDataDir', () => {
  test('a second process is refused with the folder and the pid that holds it', async (t) => {
    const dataDir = await makeFolder(t)
    const holder = startPeer(t, dataDir, { does: 'hold' })
    assert.deepEqual(await holder.next(), { held: true })

    const refusal = lockDataDir(dataDir)

    await assert.rejects(refusal, (error) => {
      assert(error instanceof DataDirLocked)
      assert.equal(error.pid, holder.pid)
      assert(error.message.includes(dataDir) && error.message.includes(String(holder.pid)))
      return true
    })
    await holder.kill('SIGKILL')
  })

  test('a killed holder leaves the folder free', async (t) => {
    const dataDir = await makeFolder(t)
    const holder = startPeer(t, dataDir, { does: 'hold' })
    await holder.next()
    await holder.kill('SIGKILL')

    const lock = await lockDataDir(dataDir)

    await lock.release()
  })

  test('of many processes that follow a killed holder exactly one gets the folder', async (t) => {
    const dataDir = await makeFolder(t)
    const holder = startPeer(t, dataDir, { does: 'hold' })
    await holder.next()
    await holder.kill('SIGKILL')

    const peers = Array.from({ length: 6 }, () => startPeer(t, dataDir, { does: 'hold' }))
    const answers = await Promise.all(peers.map((peer) => peer.next()))

    assert.equal(answers.filter((answer) => answer.held === true).length, 1)
    assert.equal(answers.filter((answer) => answer.name === 'DataDirLocked').length, 5)
    await Promise.all(peers.filter(({ child }) => child.exitCode === null).map((peer) => peer.kill('SIGKILL')))
  })

  test('within one process a second lock is refused until the first is released', async (t) => {
    const dataDir = await makeFolder(t)
    const lock = await lockDataDir(dataDir)

    await assert.rejects(lockDataDir(dataDir), DataDirLocked)
    await lock.release()
    await lock.release()
    const again = await lockDataDir(dataDir)

    await again.release()
  })
})
