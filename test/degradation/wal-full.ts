// The disk has no room for PostgreSQL's log (WAL): it stops with a panic, and so does `reeve up`. When there is room it starts again with
// all that was accepted. Run by `npm run test:slow -- wal-full`.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { statfsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { spawnReeve } from '../crash/reeve.ts'
import { atEnd } from '../support/cleanup.ts'
import { temporaryFolder } from '../support/servers.ts'

const MB = 1024 * 1024
const DISK_MB = 256
const LEFT_MB = 10 // less than a segment of the log, and more than the tables need until then
const JOBS_MAX = 500

test('jobs accepted before the WAL ran out of space are there when it has space again', async (t) => {
  const disk = await temporaryFolder(t)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'tmpfs', disk], { encoding: 'utf8' })
  assert.equal(mounted.status, 0, mounted.stderr)
  atEnd(t, () => spawnSync('umount', ['-l', disk]))
  const dataDir = join(disk, 'data')
  await mkdir(dataDir)
  const first = spawnReeve(t, dataDir, { LOG_LEVEL: 'silent' })
  const client = await first.ready()
  const { bavail, bsize } = statfsSync(disk)
  await writeFile(join(disk, 'filler'), Buffer.alloc(bavail * bsize - LEFT_MB * MB))

  const accepted: string[] = []
  let refused: unknown = null
  while (refused === null && accepted.length < JOBS_MAX) {
    try {
      accepted.push(await client.submit({ text: randomBytes(MB / 8).toString('hex') }))
    } catch (error) {
      refused = error
    }
  }
  const exit = await first.exited
  await rm(join(disk, 'filler'))
  const second = await spawnReeve(t, dataDir).ready()
  const jobs = await Promise.all(accepted.map((jobId) => second.job(jobId, 20)))

  t.diagnostic(`${accepted.length} jobs were accepted; then: ${first.said().trim().split('\n').at(-1)}`)
  assert.notEqual(refused, null, 'the disk was never full')
  assert.notEqual(exit.code, 0)
  assert.match(first.said(), /The embedded database stopped by itself/)
  assert(jobs.length > 0 && jobs.every(({ state }) => state === 'done'))
})
