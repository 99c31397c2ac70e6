import assert from 'node:assert/strict'
import { existsSync, statSync } from 'node:fs'
import { readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { FileStoreError } from '../../src/core/files/file-store.ts'
import { openFolderStore } from '../../src/core/files/folder-store.ts'
import { MIB, keys, newFolder, read, setupFolder } from './setup.ts'

const DAY_MS = 24 * 60 * 60 * 1000

describe('folder store', () => {
  test('readers beside many puts of one key see whole contents only', async (t) => {
    const { store } = await setupFolder(t)
    const contents = Array.from({ length: 8 }, (_none, index) => Buffer.alloc(MIB, index))
    const put = (content: Buffer) => store.put('a/b', content)
    await put(Buffer.alloc(MIB, 0))

    const [seen] = await Promise.all([
      Promise.all(Array.from({ length: 60 }, () => read(store, 'a/b'))),
      Promise.all([...contents, ...contents, ...contents].map(put)),
    ])

    for (const content of seen) assert.ok(contents.some((one) => content?.equals(one)))
  })

  test('puts and deletes that share a folder do not disturb each other', async (t) => {
    const { store, leftovers } = await setupFolder(t)

    await Promise.all(
      Array.from({ length: 200 }, async (_none, index) => {
        await store.put(`a/b/${index}`, Buffer.from('x'))
        if (index % 4 !== 0) await store.delete(`a/b/${index}`)
      }),
    )

    assert.equal((await keys(store, 'a/')).length, 50)
    assert.deepEqual(leftovers(), [])
  })

  test('the last delete in a folder removes the folder', async (t) => {
    const { store, dir } = await setupFolder(t)
    await store.put('a/b/c', Buffer.from('x'))

    await store.delete('a/b/c')

    assert.deepEqual(await readdir(dir), ['~tmp'])
  })

  test('a list is in the order of keys, as in S3', async (t) => {
    const { store } = await setupFolder(t)
    for (const key of ['a/b', 'a0', 'a-b', 'a.b', 'B']) await store.put(key, Buffer.from('x'))

    assert.deepEqual(await keys(store, ''), ['B', 'a-b', 'a.b', 'a/b', 'a0'])
  })

  test('a symbolic link is not followed by any call', async (t) => {
    const { store, dir } = await setupFolder(t)
    const outside = await newFolder(t)
    await writeFile(join(outside, 'secret'), 'secret')
    await symlink(outside, join(dir, 'link'))
    await symlink(join(outside, 'secret'), join(dir, 'file'))

    for (const key of ['link/secret', 'file']) {
      assert.equal(await store.get(key), null)
      assert.equal(await store.stat(key), null)
      await store.delete(key)
    }
    assert.deepEqual(await keys(store, ''), [])
    assert.deepEqual(await keys(store, 'link/'), [])
    await assert.rejects(store.put('link/new', Buffer.from('x')), FileStoreError)
    await assert.rejects(store.put('link/deep/new', Buffer.from('x')), FileStoreError)
    await store.put('file', Buffer.from('mine'))
    assert.equal(String(await read(store, 'file')), 'mine')
    assert.deepEqual(await readdir(outside), ['secret'])
    assert.equal(statSync(join(outside, 'secret')).size, 6)
  })

  test('a key below another key is refused', async (t) => {
    const { store, leftovers } = await setupFolder(t)
    await store.put('a', Buffer.from('x'))

    await assert.rejects(store.put('a/b', Buffer.from('y')), FileStoreError)

    assert.deepEqual(await keys(store, ''), ['a'])
    assert.deepEqual(leftovers(), [])
  })

  test('opening removes what a crash left more than a day ago, and nothing younger', async (t) => {
    const { dir } = await setupFolder(t)
    const old = join(dir, '~tmp', 'old')
    const young = join(dir, '~tmp', 'young')
    await writeFile(old, 'half')
    await writeFile(young, 'half')
    const longAgo = new Date(statSync(young).mtimeMs - DAY_MS - 60_000)
    await utimes(old, longAgo, longAgo)

    openFolderStore(dir)

    assert.equal(existsSync(old), false)
    assert.equal(existsSync(young), true)
  })

  test('a folder that cannot be used is named in one sentence, when it is opened and later', async (t) => {
    const { store, dir } = await setupFolder(t)
    await rm(dir, { recursive: true })
    await writeFile(dir, 'a file')

    await assert.rejects(store.check(), {
      name: 'FileStoreError',
      message: /^The file folder \S+ cannot be written: .+\.$/,
    })
    assert.throws(() => openFolderStore(dir), { name: 'FileStoreError', message: /cannot be written/ })
  })
})
