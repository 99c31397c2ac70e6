// PostgreSQL behind a network that drops everything, and an S3 store that is down: requests get 503 with Retry-After, /readyz names the part, and
// it heals by itself. What is lost of jobs in progress is tested in test/crash.
import assert from 'node:assert/strict'
import net, { type Socket } from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { migrationFolders } from '../../src/doors/outline.ts'
import { setupS3 } from '../files/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { reusedDatabase } from '../support/database.ts'
import { socketOf, startProxy } from '../support/proxy.ts'
import { newAccount, startReeve, tokenOf } from '../support/reeve.ts'
import { until } from '../support/until.ts'
import { zipOf } from '../support/zip.ts'

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
    const refused = await submit()
    await until('/readyz names the database', async () => (await readyz(url)).checks.database === 'failed')
    const scraped = await fetch(`${url}/metrics/prometheus`)
    proxy.heal()
    await until('it has healed', async () => (await readyz(url)).status === 200)
    const accepted = await submit()

    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '1'])
    assert.equal(scraped.status, 200)
    assert.match(await scraped.text(), /^reeve_metrics_unavailable\{part="jobs"\} 1$/m)
    assert.equal(accepted.status, 202)
    assert((await database.query('select 1 from jobs')).length >= 2, 'what was accepted is there')
  })

  test('S3: uploads get 503 with Retry-After, /readyz names files, and all is well when it is back', async (t) => {
    const s3 = await setupS3(t)
    const relay = await startRelay(t, Number(new URL(s3.config.endpoint).port))
    const env = {
      JUDGE_SAMPLE_PROBLEMS: 'false',
      S3_ENDPOINT: `http://127.0.0.1:${relay.port}`,
      S3_BUCKET: s3.config.bucket,
      S3_ACCESS_KEY_ID: s3.config.accessKeyId,
      S3_SECRET_ACCESS_KEY: s3.config.secretAccessKey,
    }
    const { url } = await startReeve(t, { doors: 'judge', env, role: 'serve' })
    const { token } = await tokenOf(url, 'admin')
    const upload = () =>
      fetch(`${url}/problems/p`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/zip' },
        body: zipOf([
          { name: 'problem.yaml', content: 'name: P' },
          { name: 'data/secret/1.in' },
          { name: 'data/secret/1.ans' },
        ]),
      })

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
  let port = 0
  const open = async () => {
    await new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
    const address = server.address()
    if (address !== null && typeof address === 'object') port = address.port
  }
  const close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  await open()
  atEnd(t, close)
  return { port, open, close }
}
