// One suite for both stores: what one of them answers, the other answers too.

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { PassThrough, Readable } from 'node:stream'
import { describe, test, type TestContext } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { TooLarge } from '../../src/core/files/file-store.ts'
import { PART_BYTES } from '../../src/core/files/s3-upload.ts'
import { MIB, keys, read, setupFolder, setupS3, streamOf, type Setup } from './setup.ts'

const backends: Record<string, (t: TestContext) => Promise<Setup>> = { folder: setupFolder, s3: setupS3 }

for (const [name, setup] of Object.entries(backends)) {
  describe(`files: ${name}`, () => {
    for (const bytes of [0, 1, 20 * MIB, 2 * PART_BYTES]) {
      test(`${bytes} bytes come back as they went in`, async (t) => {
        const { store } = await setup(t)
        const content = randomBytes(bytes)

        const stored = await store.put('problems/7/package.zip', streamOf(content))

        assert.deepEqual(stored, { bytes, sha256: sha256(content) })
        assert.deepEqual(await store.stat('problems/7/package.zip'), { bytes })
        assert.ok((await read(store, 'problems/7/package.zip'))?.equals(content))
      })
    }

    test('a buffer is stored like a stream, and replaces what was there', async (t) => {
      const { store } = await setup(t)
      await store.put('a', Buffer.from('first, and longer'), { contentType: 'text/plain' })

      await store.put('a', Buffer.from('second'), { contentType: 'text/plain' })

      assert.equal(String(await read(store, 'a')), 'second')
    })

    test('a missing key is null, also where a folder of that name exists', async (t) => {
      const { store } = await setup(t)
      await store.put('a/b', Buffer.from('x'))

      for (const key of ['a', 'b', 'a/b/c', 'a/c']) {
        assert.equal(await store.get(key), null, key)
        assert.equal(await store.stat(key), null, key)
      }
    })

    for (const bytes of [10, 20 * MIB]) {
      test(`one byte over a limit of ${bytes} is refused and leaves what was there`, async (t) => {
        const { store, leftovers } = await setup(t)
        await store.put('a', Buffer.from('before'))
        const source = streamOf(randomBytes(bytes + 1))

        await assert.rejects(store.put('a', source, { bytesMax: bytes }), new TooLarge(bytes))

        assert.ok(source.destroyed)
        assert.equal(String(await read(store, 'a')), 'before')
        assert.deepEqual(leftovers(), [])
        assert.equal((await store.put('a', randomBytes(bytes), { bytesMax: bytes })).bytes, bytes)
      })
    }

    test('content that fails in the middle leaves nothing visible, and its own error is reported', async (t) => {
      const { store, leftovers } = await setup(t)
      const failing = Readable.from(
        (async function* () {
          for await (const chunk of streamOf(randomBytes(20 * MIB))) yield chunk
          throw new Error('the client went away')
        })(),
      )

      await assert.rejects(store.put('a/b', failing), { message: 'the client went away' })

      assert.equal(await store.get('a/b'), null)
      assert.deepEqual(await keys(store, ''), [])
      assert.deepEqual(leftovers(), [])
    })

    test('content that was destroyed before or during the put leaves nothing visible', async (t) => {
      const { store, leftovers } = await setup(t)
      const content = new PassThrough()

      const putting = assert.rejects(store.put('a', content), { code: 'ERR_STREAM_PREMATURE_CLOSE' })
      content.write('half of it')
      await turn()
      content.destroy()
      await putting

      await assert.rejects(store.put('a', content), { code: 'ERR_STREAM_PREMATURE_CLOSE' })
      assert.equal(await store.get('a'), null)
      assert.deepEqual(leftovers(), [])
    })

    test('a put under way changes nothing until its last byte is stored', async (t) => {
      const { store, storedBytes } = await setup(t)
      await store.put('a', Buffer.from('before'))
      const start = storedBytes()
      const content = new PassThrough()

      const putting = store.put('a', content)
      content.write(randomBytes(PART_BYTES + 1))
      while (storedBytes() === start) await turn()

      assert.equal(String(await read(store, 'a')), 'before')
      content.end()
      await putting
      assert.deepEqual(await store.stat('a'), { bytes: PART_BYTES + 1 })
    })

    test('a stream of 200 MB is never more than a few parts ahead of the store', async (t) => {
      const { store, storedBytes } = await setup(t)
      const chunk = randomBytes(64 * 1024)
      let made = 0
      let ahead = 0
      const source = Readable.from(
        (async function* () {
          for (; made < 200 * MIB; made += chunk.length) {
            ahead = Math.max(ahead, made - storedBytes())
            yield chunk
            await turn()
          }
        })(),
      )

      const stored = await store.put('big', source)

      assert.equal(stored.bytes, 200 * MIB)
      assert.ok(ahead <= 2 * PART_BYTES, `${ahead} bytes ahead`)
    })

    test('a list goes on over more than one page', async (t) => {
      const { store } = await setup(t)
      const many = Array.from({ length: 1_010 }, (_none, index) => `many/${Math.floor(index / 400)}/${index}.txt`)
      for (let at = 0; at < many.length; at += 101) {
        await Promise.all(many.slice(at, at + 101).map((key) => store.put(key, Buffer.from(key))))
      }

      assert.deepEqual(await keys(store, 'many/'), many.sort())
    })

    test('a list has every key that begins with the prefix, and no other', async (t) => {
      const { store } = await setup(t)
      const all = ['a/b', 'manx/1', 'many-more/x', 'many.txt', 'many/1', 'many/10/a', 'many/11']
      for (const key of all) await store.put(key, Buffer.from(key))

      for (const prefix of [
        '',
        'a',
        'a/',
        'a/b',
        'man',
        'many',
        'many/',
        'many/1',
        'many/10/',
        'many/2',
        'none/',
        'a/b/',
      ]) {
        const begun = all.filter((key) => key.startsWith(prefix))
        assert.deepEqual((await keys(store, prefix)).sort(), begun, prefix)
      }
    })

    test('a delete removes the key alone, and may be repeated', async (t) => {
      const { store } = await setup(t)
      await store.put('a/b/c', Buffer.from('x'))
      await store.put('a/d', Buffer.from('y'))

      await store.delete('a/b/c')
      await store.delete('a/b/c')
      await store.delete('never/there')

      assert.deepEqual(await keys(store, ''), ['a/d'])
    })

    test('a key that could leave the store is refused by every call', async (t) => {
      const { store } = await setup(t)
      const bad = [
        '',
        '/',
        '/a',
        'a/',
        'a//b',
        '.',
        '..',
        '../a',
        'a/../b',
        'a/./b',
        'a\\b',
        'a b',
        'a\0',
        'a\n',
        '~tmp/a',
      ]
      const long = ['é', 'a%2f', 'a'.repeat(256), 'a/'.repeat(256) + 'a']
      const refusal = { code: 'ERR_ASSERTION' }

      for (const key of [...bad, ...long]) {
        await assert.rejects(store.put(key, Buffer.from('x')), refusal, key)
        await assert.rejects(store.get(key), refusal, key)
        await assert.rejects(store.stat(key), refusal, key)
        await assert.rejects(store.delete(key), refusal, key)
      }
      for (const prefix of ['/', '../../src/core/', 'a/../', '~'])
        await assert.rejects(keys(store, prefix), refusal, prefix)
      assert.equal((await store.put('a/'.repeat(255) + 'ab', Buffer.from('x'))).bytes, 1)
    })

    test('a store that works passes its check', async (t) => {
      const { store, leftovers } = await setup(t)

      await store.check()

      assert.deepEqual(leftovers(), [])
    })
  })
}

function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}
