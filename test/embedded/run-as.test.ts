import assert from 'node:assert/strict'
import { mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { asRoot, makeFolder, NOBODY, type Peer, startPeer, untilNoProcess } from './setup.ts'

const PROMPTLY_MS = 5000

/** A machine where user namespaces are forbidden: in a mount namespace of its own, `unshare` does nothing but fail. */
const NO_NAMESPACES = ['unshare', '--mount', 'sh', '-c', 'mount --bind /bin/false /usr/bin/unshare && exec "$@"', 'sh']

const userOf = async (pid: unknown) => (await stat(`/proc/${Number(pid)}`)).uid
const ownerOf = async (path: string) => (await stat(path)).uid

async function assertServesAndDies(peer: Peer, dataDir: string, owner: number): Promise<void> {
  const { pid, refused } = await peer.next()
  assert.equal(refused, undefined)
  assert.equal(await userOf(pid), owner)
  assert.equal(await ownerOf(join(dataDir, 'postgres')), owner)

  await peer.kill('SIGKILL')
  assert((await untilNoProcess(dataDir)) < PROMPTLY_MS)
}

/** Below root's home or `mktemp -d` no other user can enter. */
const makePrivateFolder = async (t: TestContext) => {
  const folder = join(await makeFolder(t), 'data')
  await mkdir(folder, { mode: 0o700 })
  return folder
}

describe('run-as', asRoot, () => {
  test('an ordinary user runs the server as itself', async (t) => {
    const dataDir = await makeFolder(t, { owner: NOBODY })

    for (let round = 0; round < 2; round++) {
      await assertServesAndDies(startPeer(t, dataDir, { does: 'serve', uid: NOBODY }), dataDir, NOBODY)
    }
  })

  test('root runs the server in a namespace, below a folder that nobody else can enter', async (t) => {
    const dataDir = await makePrivateFolder(t)

    for (let round = 0; round < 2; round++) {
      await assertServesAndDies(startPeer(t, dataDir, { does: 'serve' }), dataDir, 0)
    }
  })

  test('root leaves the folder of an ordinary user to that user', async (t) => {
    const dataDir = await makeFolder(t, { owner: NOBODY })

    await assertServesAndDies(startPeer(t, dataDir, { does: 'serve' }), dataDir, NOBODY)
    await assertServesAndDies(startPeer(t, dataDir, { does: 'serve' }), dataDir, NOBODY)
  })

  test('where namespaces are forbidden root runs the server as another user, and takes over a cluster', async (t) => {
    const dataDir = await makeFolder(t)
    await assertServesAndDies(startPeer(t, dataDir, { does: 'serve' }), dataDir, 0)

    const { pid, refused } = await startPeer(t, dataDir, { does: 'serve', prefix: NO_NAMESPACES }).next()

    assert.equal(refused, undefined)
    assert.notEqual(await userOf(pid), 0)
    assert.equal(await ownerOf(join(dataDir, 'postgres')), await userOf(pid))
    assert.equal((await stat(dataDir)).mode & 0o777, 0o710)
    process.kill(Number(pid), 'SIGINT')
  })

  test('where nothing works one sentence says so', async (t) => {
    const dataDir = await makePrivateFolder(t)

    const { refused } = await startPeer(t, dataDir, { does: 'serve', prefix: NO_NAMESPACES }).next()

    assert.match(
      String(refused),
      /^PostgreSQL does not run as root, and no other way works here \(.*\): start Reeve as/,
    )
    assert(!String(refused).includes('\n'))
  })
})
