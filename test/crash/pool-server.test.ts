// The server is killed with SIGKILL while workers submit, quorums are decided, receipts are appended and clients called back.
// What was answered is there afterwards, once.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { problemWithChain, type Receipt } from '@reeve/sdk/pool'
import { migrationFolders } from '../../src/doors/outline.ts'
import { startReceiver } from '../contract/challenge/setup.ts'
import {
  connect,
  login,
  newKey,
  send,
  submission,
  urlOf,
  type Credentials,
  type Worker,
} from '../contract/pool/setup.ts'
import { freshDatabase } from '../support/database.ts'
import { seeded } from '../support/seeded.ts'
import { freePort } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { dataFolder, spawnReeve } from './reeve.ts'

const SEED = Number(process.env['REEVE_TEST_SEED'] ?? randomInt(2 ** 31))
const OWNERS = 4
const PLAIN = 120
const SHARED = 40
const KILLS = 3
const TIMEOUT = { timeout: 280_000 }

/** Until there is an answer: the server may be away. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch {
      await sleep(50)
    }
  }
}

async function setupServer(t: TestContext) {
  const at = await freshDatabase(migrationFolders())
  const folder = await dataFolder(t)
  const port = await freePort()
  const settings = {
    DATABASE_URL: urlOf(at),
    SERVER_PORT: String(port),
    DOORS: 'pool',
    POOL_LEASE_SECONDS: '2',
    JOB_MAX_ATTEMPTS: '100',
    LOGIN_RATE_LIMIT_MAX: '1000',
    ALLOW_INSECURE_CALLBACKS: 'true',
    OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32',
  }
  const url = `http://127.0.0.1:${port}`
  const database = await connect(t, at)
  return { url, database, start: () => spawnReeve(t, folder, settings) }
}

async function account(url: string, username: string, role: string): Promise<Credentials> {
  await send(url, 'POST', '/auth/register', { username, password: 'a long password', role })
  return login(url, username, 'a long password')
}

async function workLoop(url: string, worker: Worker, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const { status, body } = await patiently(() =>
      send(url, 'POST', '/jobs/poll', { worker_id: worker.id }, { ...worker.by, prefer: 'wait=1' }),
    )
    if (status === 200) await patiently(() => send(url, 'POST', '/jobs/submit', submission(worker, body), worker.by))
  }
}

describe('a pool server that is killed', () => {
  test(
    `records every result once, settles every quorum, and loses no receipt or callback (seed ${SEED})`,
    TIMEOUT,
    async (t) => {
      const { url, database, start } = await setupServer(t)
      const random = seeded(SEED)
      const receiver = await startReceiver(t)
      let server = start()
      await server.ready()
      const client = await account(url, 'client', 'CLIENT')
      const workers: Worker[] = []
      for (let n = 0; n < OWNERS; n += 1) {
        const by = await account(url, `owner ${n}`, 'WORKER_OWNER')
        const key = newKey()
        const { id } = (await send(url, 'POST', '/workers/register', { name: `w${n}`, public_key: key.publicKey }, by))
          .body
        workers.push({ id, by, ...key })
      }
      const jobIds = await Promise.all(
        Array.from({ length: PLAIN + SHARED }, async (_, n) => {
          const more = n < PLAIN ? {} : { replicas: 3, quorum: 2 }
          const body = { payload: { n }, callback_url: `${receiver.url}/${n}`, ...more }
          return String((await send(url, 'POST', '/v1/jobs', body, client)).body.job_id)
        }),
      )

      let isOver = false
      const working = workers.map((worker) => workLoop(url, worker, () => isOver))
      for (let kill = 0; kill < KILLS; kill += 1) {
        const seen = await resultsOf(database)
        await until('some more were done', async () => (await resultsOf(database)) > seen + random() * 20)
        server.signal('SIGKILL')
        await server.exited
        server = start()
        await server.ready()
      }
      for (const jobId of jobIds) {
        const { body } = await send(url, 'GET', `/v1/jobs/${jobId}`, undefined, { ...client, prefer: 'wait=50' })
        assert.equal(body.status, 'completed')
      }
      isOver = true
      await Promise.all(working)

      await assertSettled(database, url)
      await until(
        'every job was called back',
        () => new Set(receiver.received.map(({ path }) => path)).size === jobIds.length,
      )
      for (const { path, headers, body } of receiver.received) {
        const jobId = jobIds[Number(path.slice(1))]
        assert.deepEqual(
          [headers['x-request-id'], JSON.parse(body).job_id, JSON.parse(body).status],
          [jobId, jobId, 'completed'],
        )
      }
    },
  )
})

const resultsOf = async (database: Awaited<ReturnType<typeof connect>>): Promise<number> =>
  (await database.query('select count(*)::integer as n from pool_results')).rows[0].n

async function assertSettled(database: Awaited<ReturnType<typeof connect>>, url: string): Promise<void> {
  const counts = async () => {
    const { rows } = await database.query(`
      select (select count(*) from pool_results)::integer as results, (select count(*) from pool_receipts)::integer as receipts,
             (select count(*) from pool_quorums where touches > settled)::integer as unsettled,
             (select count(*) from pool_tasks)::integer as tasks,
             (select count(*) from pool_results where quorum_id is not null and verdict is null)::integer as unjudged,
             (select coalesce(sum(agreed), 0) from pool_workers)::integer as agreed,
             (select count(*) from pool_results where verdict = 'agreed')::integer as verdicts`)
    return rows[0]
  }
  await until(
    'all is settled',
    async () => {
      const { results, receipts, unsettled, tasks, unjudged } = await counts()
      return results === receipts && unsettled === 0 && tasks === 0 && unjudged === 0
    },
    counts,
  )
  const { agreed, verdicts, receipts: count } = await counts()
  assert.equal(agreed, verdicts, 'each was judged once')
  const admin = await login(url, 'admin', 'nine-brown-hens')
  const page = await send(url, 'GET', '/admin/pool/receipts?limit=1000', undefined, admin)
  const receipts: Receipt[] = page.body.receipts
  assert.equal(receipts.length, count)
  assert.equal(problemWithChain(receipts), null)
}
