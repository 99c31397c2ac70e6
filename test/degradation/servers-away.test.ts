// PostgreSQL behind a network that drops everything, and an S3 store that is down: requests get 503 with Retry-After, /readyz names the part, and
// it heals by itself. What is lost of jobs in progress is tested in test/crash.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net, { type Socket } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { migrationFolders } from '../../src/doors/outline.ts'
import { shortId } from '../feed/rig.ts'
import type { S3Config } from '../../src/core/files/s3-store.ts'
import { setupS3 } from '../files/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { reusedDatabase } from '../support/database.ts'
import { socketOf, startProxy } from '../support/proxy.ts'
import { newAccount, startReeve, tokenOf } from '../support/reeve.ts'
import { freePort, sharedRedis } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { uploader } from './uploader.ts'

// `npm run test:slow -- outage` waits longer.
const AWAY_MS = 1000 * Number(process.env['REEVE_TEST_AWAY_SEC'] ?? 0)

const readyz = async (url: string) => {
  const answer = await fetch(`${url}/readyz`)
  return { status: answer.status, checks: JSON.parse(await answer.text()).checks }
}

describe('a server that is away', () => {
  test('PostgreSQL: requests get 503 with Retry-After, metrics are answered, and all is well when it is back', async (t) => {
    const at = await reusedDatabase(t, migrationFolders())
    const proxy = await startProxy(t, socketOf(at))
    const env = { DATABASE_URL: `postgres://${at.user}@127.0.0.1:${proxy.port}/${at.database}` }
    const { url, database } = await startReeve(t, { doors: 'pool', on: at, env })
    const { token } = await newAccount(url, 'ann', ['CLIENT'])
    const submit = () =>
      fetch(`${url}/v1/jobs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ payload: {} }),
      })
    assert.equal((await submit()).status, 202)

    proxy.partition()
    const goneAt = performance.now()
    const refused = await submit()
    await until('/readyz names the database', async () => (await readyz(url)).checks.database === 'failed')
    const scraped = await fetch(`${url}/metrics/prometheus`)
    const meanwhile = [refused.status]
    while (performance.now() - goneAt < AWAY_MS) meanwhile.push((await submit()).status)
    proxy.heal()
    const healed = performance.now()
    await until('it has healed', async () => (await readyz(url)).status === 200)
    t.diagnostic(
      `ready again after ${Math.round(performance.now() - healed)} ms; ${meanwhile.length} requests meanwhile`,
    )
    const accepted = await submit()

    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1'])
    assert.deepEqual(new Set(meanwhile), new Set([503]), 'nothing is accepted that is not on its disk')
    assert.equal(scraped.status, 200)
    assert.match(await scraped.text(), /^reeve_metrics_unavailable\{part="jobs"\} 1$/m)
    assert.equal(accepted.status, 202)
    assert((await database.query('select 1 from jobs')).length >= 2, 'what was accepted is there')
  })

  test('Redis: jobs are accepted, /readyz names the feed, and what waited is done when it is back', async (t) => {
    const { hostname, port } = new URL(await sharedRedis())
    const proxy = await startProxy(t, { host: hostname, port: Number(port) })
    const env = {
      REDIS_URL: `redis://127.0.0.1:${proxy.port}`,
      JOB_STREAM_GROUP: `test:${shortId()}`,
      JOB_LEASE_SEC: '3',
      JOB_HEARTBEAT_SEC: '1',
      JOB_RECLAIM_INTERVAL_SEC: '1',
      JOB_RECLAIM_GRACE_SEC: '1',
    }
    const { url } = await startReeve(t, { doors: 'pool', env })
    const { token } = await tokenOf(url, 'admin')
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ kind: 'echo', payload: 1 })
    const submit = async () => {
      const answer = await fetch(`${url}/admin/jobs`, { method: 'POST', headers, body })
      return { status: answer.status, jobId: String(JSON.parse(await answer.text()).job_id) }
    }
    const stateOf = async (jobId: string) => {
      const answer = await fetch(`${url}/admin/jobs/${jobId}`, { headers: { ...headers, prefer: 'wait=5' } })
      return JSON.parse(await answer.text()).state
    }

    proxy.partition()
    await until('/readyz names the feed', async () => (await readyz(url)).checks.feed === 'failed')
    const accepted = await submit()
    proxy.heal()
    await until('it has healed', async () => (await readyz(url)).status === 200)
    await until('the job is done', async () => (await stateOf(accepted.jobId)) === 'done')

    assert.equal(accepted.status, 202)
  })

  test('S3: uploads get 503 with Retry-After, /readyz names files, and all is well when it is back', async (t) => {
    const s3 = await setupS3(t)
    const relay = await startRelay(t, Number(new URL(s3.config.endpoint).port))
    const { url } = await startReeve(t, { doors: 'judge', env: s3Env(s3.config, relay.port), role: 'serve' })
    const upload = await uploader(url)

    relay.close()
    await until('/readyz names the files', async () => (await readyz(url)).checks.files === 'failed')
    const refused = await upload()
    await relay.open()
    await until('it has healed', async () => (await readyz(url)).status === 200)
    const uploaded = await upload()

    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1'])
    assert.equal(uploaded.status, 201, await uploaded.text())
  })
})

const isQuick = process.env['REEVE_TEST_SILENT_S3'] === undefined && 'takes 90 seconds: npm run test:slow -- outage'

describe('an S3 store behind a network that drops everything', () => {
  test(
    'an upload is answered with 503 within two minutes, and /readyz names files at once',
    { skip: isQuick },
    async (t) => {
      const s3 = await setupS3(t)
      const proxy = await startProxy(t, { host: '127.0.0.1', port: Number(new URL(s3.config.endpoint).port) })
      const { url } = await startReeve(t, { doors: 'judge', env: s3Env(s3.config, proxy.port), role: 'serve' })
      const upload = await uploader(url)

      proxy.partition()
      const began = performance.now()
      const refusing = upload()
      await until('/readyz names the files', async () => (await readyz(url)).checks.files === 'failed')
      const namedMs = performance.now() - began
      const refused = await refusing
      const tookMs = performance.now() - began
      proxy.heal()
      await until('it has healed', async () => (await readyz(url)).status === 200)
      const uploaded = await upload()

      t.diagnostic(`/readyz after ${Math.round(namedMs)} ms, 503 after ${Math.round(tookMs)} ms`)
      assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1'])
      assert(tookMs < 120_000, `it took ${tookMs} ms`)
      assert.equal(uploaded.status, 201, await uploaded.text())
    },
  )
})

const s3Env = ({ bucket, accessKeyId, secretAccessKey }: S3Config, port: number) => ({
  S3_ENDPOINT: `http://127.0.0.1:${port}`,
  S3_BUCKET: bucket,
  S3_ACCESS_KEY_ID: accessKeyId,
  S3_SECRET_ACCESS_KEY: secretAccessKey,
})

/** A port that can go away and come back: connections to it are refused meanwhile. */
async function startRelay(t: TestContext, to: number) {
  const sockets = new Set<Socket>()
  const server = net.createServer((client) => {
    const target = net.connect(to, '127.0.0.1')
    for (const socket of [client, target]) {
      sockets.add(socket)
      socket.on('error', () => {}).once('close', () => sockets.delete(socket))
    }
    client.pipe(target).pipe(client)
  })
  const port = await freePort() // nobody else is given it while it is closed
  const open = async () => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  await open()
  atEnd(t, close)
  return { port, open, close }
}
