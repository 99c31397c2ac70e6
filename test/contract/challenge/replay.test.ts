// A request counts once, however often and wherever it arrives.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Client } from 'pg'
import { migrationFolders } from '../../../src/main.ts'
import { cleaningLoop } from '../../../src/doors/challenge/nonces.ts'
import { atEnd } from '../../support/cleanup.ts'
import { freshDatabase, testDatabase } from '../../support/database.ts'
import { until } from '../../support/until.ts'
import { post, postSigned, signedHeaders, solveBody, SOLVER_KEY, startReceiver, startServer } from './setup.ts'

const count = (codes: readonly unknown[]) =>
  codes.reduce<Record<string, number>>((sum, code) => ({ ...sum, [String(code)]: (sum[String(code)] ?? 0) + 1 }), {})

describe('challenge: replay', () => {
  test('of 200 identical requests over two servers on one database one is accepted', async (t) => {
    const at = await freshDatabase(migrationFolders())
    const servers = [await startServer(t, { on: at, role: 'serve' }), await startServer(t, { on: at, role: 'serve' })]
    const body = JSON.stringify(solveBody('c1', 'https://challenger.example/callback/c1'))
    const headers = signedHeaders('/solve', body)

    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => post(`${servers[index % 2]?.url}/solve`, body, headers)),
    )

    assert.deepEqual(count(answers.map(({ status, body }) => (status === 202 ? 202 : body.error.code))), {
      202: 1,
      REPLAY_ATTACK: 199,
    })
  })

  test('of 100 requests with one challenge id and different nonces one is new', async (t) => {
    const at = await freshDatabase(migrationFolders())
    const servers = [await startServer(t, { on: at, role: 'serve' }), await startServer(t, { on: at, role: 'serve' })]
    const body = solveBody('c1', 'https://challenger.example/callback/c1')

    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => postSigned(servers[index % 2]?.url ?? '', '/solve', body)),
    )

    assert.deepEqual(count(answers.map(({ body }) => body.message)), {
      'Challenge accepted': 1,
      'Challenge already accepted': 99,
    })
  })

  test('a request that failed with 503 is accepted when the identical one comes again', async (t) => {
    const { url, at } = await startServer(t, { role: 'serve' })
    const body = JSON.stringify(solveBody('c1', 'https://challenger.example/callback/c1'))
    const headers = signedHeaders('/solve', body)
    const [client, watcher] = [new Client(at), new Client(at)] // within a transaction, activity is a still picture
    await Promise.all([client.connect(), watcher.connect()])
    atEnd(t, () => Promise.all([client.end(), watcher.end()]))
    await client.query('begin')
    await client.query('lock table solve_requests in exclusive mode')

    const failing = post(`${url}/solve`, body, headers)
    await until('the request waits for the lock, and its connection is cut', async () => {
      const { rowCount } = await watcher.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into challenge_nonces%'`,
      )
      return rowCount === 1
    })
    const failed = await failing
    await client.query('rollback')
    const again = await post(`${url}/solve`, body, headers)
    const replayed = await post(`${url}/solve`, body, headers)

    assert.deepEqual([failed.status, again.status, replayed.status], [503, 202, 401])
    assert.equal(again.body.message, 'Challenge accepted')
  })

  test('nonces are kept for twice the window and a minute, and then thrown away', async (t) => {
    const { database } = await testDatabase(t, migrationFolders().slice(1))
    await database.query(
      `insert into challenge_nonces (side, nonce, seen_at)
       values ('solver', 'old', now() - interval '661 seconds'), ('solver', 'young', now() - interval '659 seconds')`,
    )

    await cleaningLoop(database, 300).runOnce(new AbortController().signal)

    assert.deepEqual(await database.query('select nonce from challenge_nonces'), [{ nonce: 'young' }])
  })

  test('keys are rotated with no request refused', async (t) => {
    const receiver = await startReceiver(t)
    const at = await freshDatabase(migrationFolders())
    const old = await startServer(t, {
      on: at,
      role: 'serve',
      env: { SOLVER_HMAC_EXTRA_KEYS: 'solver-kid-2=second@2999-01-01T00:00:00Z' },
    })
    const next = await startServer(t, {
      on: at,
      role: 'serve',
      env: {
        SOLVER_HMAC_KEY_ID: 'solver-kid-2',
        SOLVER_HMAC_SECRET: 'second',
        SOLVER_HMAC_EXTRA_KEYS: `solver-kid-1=${SOLVER_KEY.secret}@2999-01-01T00:00:00Z`,
      },
    })
    const keys = [SOLVER_KEY, { keyId: 'solver-kid-2', secret: 'second' }]

    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, index) => {
        const server = index % 2 === 0 ? old : next
        const key = keys[index % 4 < 2 ? 0 : 1] ?? SOLVER_KEY
        return postSigned(server.url, '/solve', solveBody(`c${index}`, `${receiver.url}/callback/c`), { key })
      }),
    )

    assert.deepEqual(count(answers.map(({ status }) => status)), { 202: 80 })
  })
})
