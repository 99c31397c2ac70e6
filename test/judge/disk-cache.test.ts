// The cache of programs and packages: what it keeps, and that its limit holds at all times.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { CacheFull, openDiskCache } from '../../src/doors/judge/programs/disk-cache.ts'
import { temporaryFolder } from '../support/servers.ts'

const KB = 1024
const MINUTE_MS = 60_000

async function setup(t: TestContext, bytesMax: number) {
  const folder = await temporaryFolder(t)
  let now = Date.UTC(2030, 0, 1)
  const cache = openDiskCache({ folder, bytesMax, entryBytesMax: 10 * KB, clock: { now: () => now } })
  return {
    folder,
    cache,
    put: (key: string, bytes: number) =>
      cache.get(key, async (into) => writeFile(join(into, 'file'), Buffer.alloc(bytes, 1)).then(() => key)),
    has: (key: string) => existsSync(join(folder, key)),
    pass: (ms: number) => (now += ms),
    async bytes() {
      const names = await readdir(folder, { recursive: true })
      const sizes = await Promise.all(names.map(async (name) => stat(join(folder, name))))
      return sizes.filter((seen) => seen.isFile()).reduce((sum, { size }) => sum + size, 0)
    },
  }
}

describe('the disk cache', () => {
  test('makes an entry once, and another process finds it', async (t) => {
    const { put, cache } = await setup(t, 100 * KB)

    const first = await put('a', KB)
    const second = await cache.get('a', async () => assert.fail('made twice'))

    assert.deepEqual([first.isNew, first.about, second.isNew, second.about], [true, 'a', false, 'a'])
  })

  test('never has more than its limit, however many entries are made at once', async (t) => {
    const { put, pass, bytes } = await setup(t, 50 * KB)

    for (let round = 0; round < 5; round += 1) {
      await Promise.all([1, 2].map((n) => put(`entry-${round}-${n}`, 9 * KB)))
      assert((await bytes()) <= 50 * KB, String(await bytes()))
      pass(3 * MINUTE_MS)
    }
  })

  test('removes the largest and oldest first', async (t) => {
    const { put, pass, has } = await setup(t, 30 * KB)
    await put('large', 9 * KB)
    await put('small', KB)
    pass(3 * MINUTE_MS)
    await put('recent', 9 * KB)
    pass(MINUTE_MS)

    await put('new', 9 * KB)

    assert.deepEqual(
      ['large', 'small', 'recent', 'new'].map((key) => has(key)),
      [false, true, true, true],
    )
  })

  test('keeps what may be in use, and refuses a new entry when there is no room', async (t) => {
    const { put, pass, has } = await setup(t, 30 * KB)
    await put('a', 9 * KB)
    await put('b', 9 * KB)

    await assert.rejects(put('c', 9 * KB), CacheFull)
    assert(has('a') && has('b'))
    pass(3 * MINUTE_MS)
    await put('c', 9 * KB)

    assert(has('c'))
  })
})
