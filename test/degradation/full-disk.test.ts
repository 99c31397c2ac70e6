// A full disk: whoever asks is told to come again, /readyz names the part, and everything heals when there is room.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { atEnd } from '../support/cleanup.ts'
import { newAccount, startReeve } from '../support/reeve.ts'
import { temporaryFolder } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { uploader } from './uploader.ts'

const cannotMount =
  spawnSync('unshare', ['-m', 'true']).status === 0 && process.getuid?.() === 0
    ? false
    : 'only root may mount a small disk'

const FAIL_WITH_DISK_FULL = `
  create function disk_is_full() returns trigger language plpgsql as
  $$ begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$;
  create trigger disk_is_full before insert on jobs for each statement execute function disk_is_full()`

const submitJob = async (url: string, token: string) => {
  const answer = await fetch(`${url}/v1/jobs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ payload: {} }),
  })
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), body: JSON.parse(await answer.text()) }
}

describe('a full disk', () => {
  test('of the database: a submit gets 503 with Retry-After, and 202 when there is room again', async (t) => {
    const { url, database } = await startReeve(t, { doors: 'pool' })
    const { token } = await newAccount(url, 'ann', ['CLIENT'])
    await database.transaction((tx) => tx.script(FAIL_WITH_DISK_FULL))

    const refused = await submitJob(url, token)
    await database.transaction((tx) => tx.script('drop trigger disk_is_full on jobs; drop function disk_is_full()'))
    const accepted = await submitJob(url, token)

    assert.deepEqual([refused.status, refused.retryAfter], [503, '1'])
    assert.equal(typeof refused.body.detail, 'string')
    assert.equal(accepted.status, 202)
    assert.equal((await database.query('select 1 from jobs')).length, 1)
  })

  test(
    'of the data folder: /readyz names files, uploads get 503, jobs are still accepted',
    { skip: cannotMount },
    async (t) => {
      const dataDir = await smallDisk(t)
      const { url } = await startReeve(t, { doors: 'pool,judge', dataDir, role: 'serve' })
      const { token } = await newAccount(url, 'ann', ['CLIENT'])
      const upload = await uploader(url)
      const files = async () => JSON.parse(await (await fetch(`${url}/readyz`)).text()).checks.files

      await writeFile(join(dataDir, 'filler'), Buffer.alloc(16 * 1024 * 1024)).catch(() => {})
      await until('/readyz names the files', async () => (await files()) === 'failed')
      const refused = await upload()
      const accepted = await submitJob(url, token)
      await rm(join(dataDir, 'filler'))
      await until('it has healed', async () => (await files()) === 'ok')
      const uploaded = await upload()

      assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1'])
      assert.equal(accepted.status, 202)
      assert.equal(uploaded.status, 201, await uploaded.text())
    },
  )
})

async function smallDisk(t: TestContext): Promise<string> {
  const folder = await temporaryFolder(t)
  const { status, stderr } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  atEnd(t, () => spawnSync('umount', ['-l', folder]))
  return folder
}
