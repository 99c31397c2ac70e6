import assert from 'node:assert/strict'
import { appendFile, stat, writeFile } from 'node:fs/promises'
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openLog } from '../../src/core/embedded/log-file.ts'
import { makeFolder } from './setup.ts'

const TOO_LONG = 'x'.repeat(11 * 1024 * 1024)

test('a log that is too long is rotated at start, and while the server writes', async (t) => {
  const path = join(await makeFolder(t), 'postgres.log')
  await writeFile(path, TOO_LONG)

  const log = await openLog(path)
  assert.equal((await stat(path)).size, 0)
  assert.equal((await stat(`${path}.1`)).size, TOO_LONG.length)
  await appendFile(path, TOO_LONG)
  await log.loop.runOnce(AbortSignal.timeout(1000))
  writeSync(log.fd, 'after')
  log.close()

  assert.equal((await stat(path)).size, 'after'.length)
})

test('the tail holds what was written since the mark', async (t) => {
  const path = join(await makeFolder(t), 'postgres.log')
  const log = await openLog(path)
  writeSync(log.fd, 'before\n')

  const mark = log.mark()
  writeSync(log.fd, 'after\n')

  assert.equal(await mark.tail(), 'after')
  log.close()
})
