// The commands as an operator types them, and a SIGKILL in the middle of each.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { open, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Client } from 'pg'
import { reeve } from '../cli/reeve-command.ts'
import { dataFolder } from '../crash/reeve.ts'
import { REEVE, ROOT } from '../support/program.ts'
import { temporaryFolder } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { backupOf, contentsOf, emptyPlace, filledServer } from './setup.ts'

const { PATH = '', HOME = '' } = process.env
const started = (args: readonly string[], env: Record<string, string>) =>
  spawn(process.execPath, [...REEVE, ...args], { cwd: ROOT, env: { PATH, HOME, ...env }, stdio: 'ignore' })

describe('reeve backup', () => {
  test('that is killed in the middle leaves no file, and the next one is whole', async (t) => {
    const { at, env, database } = await filledServer(t)
    const file = join(await temporaryFolder(t), 'b')
    const blocker = new Client(at)
    await blocker.connect()
    await blocker.query('begin; lock table jobs in access exclusive mode')

    const child = started(['backup', file], env)
    await until('it waits for the table', async () => {
      const [row] = await database.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like 'copy %'`,
      )
      return row !== undefined
    })
    child.kill('SIGKILL')
    await once(child, 'exit')
    await blocker.end()

    assert(existsSync(`${file}.part`))
    assert(!existsSync(file))
    const again = await reeve(['backup', file, '--verify', '--json'], { env })
    assert.equal(again.code, 0, again.stderr)
    assert.equal(JSON.parse(again.stdout).verified, true)
    assert.equal(JSON.parse(again.stdout).bytes, (await stat(file)).size)
    assert(!existsSync(`${file}.part`))
    assert.match(again.stderr, /^backup: 0 % /)
    const [made] = await database.query<{ count: number }>('select count(*)::integer as count from backups')
    assert.equal(made?.count, 1)
    const refused = await reeve(['backup', file], { env })
    assert.deepEqual([refused.code, refused.stderr], [1, `${file} exists: use --force.\n`])
  })
})

describe('reeve restore', () => {
  test('that is killed in the middle leaves the database empty, and is run again', async (t) => {
    const { source, stop, database } = await filledServer(t)
    await stop()
    const { path } = await backupOf(t, source)
    const bytes = await readFile(path)
    const place = await emptyPlace(t)
    const fifo = join(await temporaryFolder(t), 'fifo')
    assert.equal(spawnSync('mkfifo', [fifo]).status, 0)
    const env = { DATABASE_URL: place.url, REEVE_DATA_DIR: place.dataDir }

    const child = started(['restore', fifo], env)
    const writer = await open(fifo, 'w')
    await writer.write(bytes.subarray(0, bytes.length - 100))
    await until('it has loaded tables', async () => {
      const [row] = await place.database.query(
        `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and query like 'copy %'`,
      )
      return row !== undefined
    })
    child.kill('SIGKILL')
    await once(child, 'exit')
    await writer.close()
    await until('its session has ended', async () => {
      const rows = await place.database.query(
        `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`,
      )
      return rows.length === 0
    })

    const left = await place.database.query(`select from pg_tables where schemaname = 'public'`)
    assert.deepEqual(left, [])
    const again = await reeve(['restore', path], { env })
    assert.equal(again.code, 0, again.stderr)
    assert.match(again.stdout, /^Restored \d+ tables and \d+ files of /)
    assert.deepEqual(await contentsOf(place.database), await contentsOf(database))
  })

  test('says in one sentence what is wrong with the file', async (t) => {
    const folder = await temporaryFolder(t)
    const env = { REEVE_DATA_DIR: join(folder, 'data') }
    const damaged = join(folder, 'damaged')
    await writeFile(damaged, 'no backup')

    const [missing, wrong] = [
      await reeve(['restore', join(folder, 'missing')], { env }),
      await reeve(['restore', '--verify', damaged], { env }),
    ]

    assert.deepEqual([missing.code, missing.stderr], [1, `${join(folder, 'missing')} cannot be read.\n`])
    assert.equal(wrong.code, 1)
    assert.match(wrong.stderr, /^The backup is damaged or incomplete: .*\n$/)
    assert(!existsSync(env.REEVE_DATA_DIR))
  })
})

test('an embedded database is backed up, restored and moved to another server', async (t) => {
  const [dataDir, elsewhere] = [await dataFolder(t), await dataFolder(t)]
  const env = { REEVE_DATA_DIR: dataDir }
  const file = join(await temporaryFolder(t), 'b')
  const place = await emptyPlace(t)
  const none = await reeve(['user', 'list'], { env })
  const nothing = await reeve(['move', place.url], { env })
  const wasMade = existsSync(dataDir)
  await reeve(['migrate'], { env })
  const added = await reeve(['user', 'add', 'ann', '--json'], { env })

  const backedUp = await reeve(['backup', file], { env })
  const restored = await reeve(['restore', file], { env: { REEVE_DATA_DIR: elsewhere } })
  const listed = await reeve(['user', 'list', '--json'], { env: { REEVE_DATA_DIR: elsewhere } })
  const moved = await reeve(['move', place.url, '--json'], { env })
  const external = await reeve(['user', 'list', '--json'], { env: { DATABASE_URL: place.url } })

  assert.equal(none.code, 1)
  assert.match(none.stderr, /^There is no database in .*: reeve up makes one/)
  assert.deepEqual([nothing.code, nothing.stderr], [1, none.stderr])
  assert(!wasMade)
  assert.deepEqual([added.code, backedUp.code, restored.code, moved.code], [0, 0, 0, 0], restored.stderr + moved.stderr)
  assert.equal(JSON.parse(listed.stdout)[0].username, 'ann')
  assert.equal(external.stdout, listed.stdout)
})
