// `reeve up` on one machine, as its user meets it: killed, started twice, started wrongly, asked to stop.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { describe, test } from 'node:test'
import { Client as PgClient } from 'pg'
import { startEmbedded } from '../../src/core/embedded/server.ts'
import { untilNoProcess } from '../embedded/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { withCluster } from '../support/cluster.ts'
import { until } from '../support/until.ts'
import { dataFolder, spawnReeve, type Reeve } from './reeve.ts'
import { TIMEOUT } from './rig.ts'

const JOBS = 8
const WAIT_SEC = 50
const ONE_DOOR = { DOORS: 'arena' } // the first test opens all of them
const STACK = /^\s+at /m

describe('reeve up', () => {
  test('a server that is killed right after its 202 loses nothing that it accepted', TIMEOUT, async (t) => {
    const dataDir = await dataFolder(t)
    const first = spawnReeve(t, dataDir, { WORK_CONCURRENCY: '3' })
    const client = await first.ready()
    const payloads = Array.from({ length: JOBS }, (_, n) => ({ n, sleep_ms: 300 }))
    const jobIds = await Promise.all(payloads.map(client.submit))
    first.signal('SIGKILL', 'group')
    await first.exited

    const again = await spawnReeve(t, dataDir).ready()
    const jobs = await Promise.all(jobIds.map((jobId) => again.job(jobId, WAIT_SEC)))

    assert.deepEqual(
      jobs.map(({ state, result }) => ({ state, result })),
      payloads.map((payload) => ({ state: 'done', result: payload })),
    )
    assert.deepEqual(
      jobs.map(({ history }) => history.filter(({ what }) => what === 'done').length),
      Array(JOBS).fill(1),
    )
  })

  for (const { signal, to } of [
    { signal: 'SIGTERM', to: 'process' },
    { signal: 'SIGINT', to: 'group' },
  ] as const) {
    test(`${signal} to the ${to} lets a running job end before the server does`, TIMEOUT, async (t) => {
      const dataDir = await withCluster(await dataFolder(t))
      const reeve = spawnReeve(t, dataDir, { ...ONE_DOOR, JOB_LEASE_SEC: '60' }) // a pause must not cost it its lease
      const client = await reeve.ready()
      const jobId = await client.submit({ sleep_ms: 6000 })
      await until('the job runs', async () => (await client.job(jobId)).state === 'processing')

      reeve.signal(signal, to)

      assert.deepEqual(await reeve.exited, { code: 0, signal: null })
      await untilNoProcess(dataDir)
      assert.deepEqual(await stateIn(dataDir, jobId), { state: 'done', attempt_id: 1 })
    })
  }

  test('a second start on the same folder is refused, and the first goes on', TIMEOUT, async (t) => {
    const dataDir = await withCluster(await dataFolder(t))
    const client = await spawnReeve(t, dataDir, ONE_DOOR).ready()

    await assertRefused(spawnReeve(t, dataDir, ONE_DOOR), /^The data folder .* is in use by Reeve process \d+: .*\.$/)

    const jobId = await client.submit({ n: 1 })
    assert.equal((await client.job(jobId, WAIT_SEC)).state, 'done')
  })

  test('a taken port is refused, and no database is left running', TIMEOUT, async (t) => {
    const dataDir = await withCluster(await dataFolder(t))
    const taken = net.createServer().listen(0, '127.0.0.1')
    atEnd(t, () => taken.close())
    await once(taken, 'listening')
    const address = taken.address()
    assert(address !== null && typeof address === 'object')

    const reeve = spawnReeve(t, dataDir, { ...ONE_DOOR, SERVER_PORT: String(address.port) })

    await assertRefused(reeve, new RegExp(`^Cannot listen on 127.0.0.1:${address.port}: .*\\.$`))
    await untilNoProcess(dataDir)
  })

  test('a wrong setting is refused by name', TIMEOUT, async (t) => {
    const reeve = spawnReeve(t, await dataFolder(t), { JOB_LEASE_SEC: 'long' })

    await assertRefused(reeve, /^Invalid configuration:\n {2}JOB_LEASE_SEC: expected an integer .*"long"$/)
  })

  test(
    'a database that cannot be reached is refused, with its address and without its password',
    TIMEOUT,
    async (t) => {
      const reeve = spawnReeve(t, await dataFolder(t), { DATABASE_URL: 'postgres://me:hush@127.0.0.1:1/jobs' })

      await assertRefused(reeve, /^Cannot use the database at 127\.0\.0\.1:1\/jobs: .*\.$/)
      assert.doesNotMatch(reeve.said(), /hush/)
    },
  )
})

async function assertRefused(reeve: Reeve, sentence: RegExp): Promise<void> {
  assert.deepEqual(await reeve.exited, { code: 1, signal: null })
  assert.match(reeve.said().trim(), sentence)
  assert.doesNotMatch(reeve.said(), STACK)
}

/** Read from the folder itself, when the server is gone. */
async function stateIn(dataDir: string, jobId: string): Promise<unknown> {
  const server = await startEmbedded({ dataDir })
  const client = new PgClient(server.connection)
  await client.connect()
  try {
    return (await client.query('select state, attempt_id from jobs where job_id = $1', [jobId])).rows[0]
  } finally {
    await client.end()
    await server.stop()
  }
}
