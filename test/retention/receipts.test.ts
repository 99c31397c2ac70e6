import assert from 'node:assert/strict'
import { test } from 'node:test'
import { problemWithReceipt, problemWithWholeChain, type Receipt } from '@reeve/sdk/pool'
import { openDatabase } from '../../src/core/db/database.ts'
import { openPrune } from '../../src/core/ledger/prune.ts'
import { releaseTasks } from '../../src/doors/pool/tasks/retention.ts'
import { setup } from '../contract/pool/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { until } from '../support/until.ts'

const LATER_MS = 40 * 86_400_000
const AGE = `update jobs set finished_at = clock_timestamp() - interval '40 days' where state = 'done'`

test('the chain of receipts verifies as before when its jobs are deleted, and goes on', async (t) => {
  const pool = await setup(t)
  const database = openDatabase(pool.at, () => {})
  atEnd(t, () => database.close())
  const worker = await pool.worker('w')
  const receipts = async (): Promise<Receipt[]> =>
    (await pool.ask('GET', '/admin/pool/receipts', undefined, pool.admin)).body.receipts
  const head = async () => (await pool.ask('GET', '/v1/receipts/head')).body
  const workUntil = async (count: number) => {
    const jobId = await pool.submitJob()
    assert.equal((await pool.submit(worker, (await pool.poll(worker)).body)).status, 200)
    await until('it has a receipt', async () => (await receipts()).length === count)
    return jobId
  }
  const old = [await workUntil(1), await workUntil(2)]
  const [before, headBefore] = [await receipts(), await head()]

  await database.query(AGE)
  const kept = { jobsDays: 30, attemptsDays: 30, resultsDays: 0 }
  const now = () => Date.now() + LATER_MS
  await openPrune({ pool: database, kept, releaseOf: () => releaseTasks, forgetOf: () => null, now })()
  await workUntil(3)

  for (const jobId of old)
    assert.equal((await pool.ask('GET', `/v1/jobs/${jobId}`, undefined, pool.client)).status, 404)
  const after = await receipts()
  assert.deepEqual(after.slice(0, 2), before)
  const { public_key: key } = (await pool.ask('GET', '/v1/receipts/key')).body
  for (const receipt of after) assert.equal(problemWithReceipt(receipt, key), null)
  assert.equal(problemWithWholeChain(after, [headBefore, await head()]), null)
})
