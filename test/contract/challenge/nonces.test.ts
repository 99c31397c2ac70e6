// A request counts once, however often and wherever it arrives.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Client } from 'pg'
import { migrationFolders } from '../../../src/doors/outline.ts'
import { pruneNoncesLoop } from '../../../src/doors/challenge/signing/nonces.ts'
import { atEnd } from '../../support/cleanup.ts'
import { testDatabase } from '../../support/database.ts'
import { until } from '../../support/until.ts'
import { FEEDS, post, signedHeaders, solveBody, startServer } from './setup.ts'

describe('challenge: nonces', () => {
  for (const feed of FEEDS)
    test(`challenge 1.9: a request that failed with 503 is accepted when it is repeated unchanged (${feed})`, async (t) => {
      const { url, at } = await startServer(t, { role: 'serve', feed })
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

  test('challenge 1.8: nonces are deleted once they are older than twice the window and a minute', async (t) => {
    const { database } = await testDatabase(t, migrationFolders().slice(1))
    await database.query(
      `insert into challenge_nonces (side, nonce, seen_at)
       values ('solver', 'old', now() - interval '661 seconds'), ('solver', 'young', now() - interval '640 seconds')`,
    )

    const loop = pruneNoncesLoop(database, 300)
    const more = await loop.runOnce(new AbortController().signal)

    assert.deepEqual(await database.query('select nonce from challenge_nonces'), [{ nonce: 'young' }])
    assert.deepEqual([loop.everyMs, more], [3_600_000, false])
  })
})
