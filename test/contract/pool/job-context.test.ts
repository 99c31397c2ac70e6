// GET /admin/jobs/{id}/context of pool jobs.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { problemWithReceipt } from '@reeve/sdk/pool'
import { until } from '../../support/until.ts'
import { setup, sha256 } from './setup.ts'

const YES = { output: { answer: 'yes' }, output_hash: sha256('{"answer":"yes"}') }

test('an admin sees how far a replicated job is, its replicas, which job waits for a replica, and the receipts', async (t) => {
  const pool = await setup(t)
  const jobId = await pool.submitJob({ replicas: 2, quorum: 2 })
  const contextOf = async (id: string) =>
    (await pool.ask('GET', `/admin/jobs/${id}/context`, undefined, pool.admin)).body
  const agree = async (name: string) => {
    const worker = await pool.worker(name, {}, await pool.account(`owner of ${name}`, 'WORKER_OWNER'))
    assert.equal((await pool.submit(worker, (await pool.poll(worker)).body, YES)).status, 200)
  }
  await agree('first')
  const running = await contextOf(jobId)
  const replica = await contextOf(running.waits_for[0].job_id)
  await agree('second')
  await pool.job(jobId, 20)
  await until('both have a receipt', async () => (await contextOf(jobId)).receipts.length === 2)

  const ended = await contextOf(jobId)
  assert.deepEqual(running.progress, { done: 1, total: 2, unit: 'results' })
  assert.deepEqual(
    running.waits_for.map(({ kind }: { kind: string }) => kind),
    ['pool', 'pool'],
  )
  assert.deepEqual(replica.dependents, [{ job_id: jobId, kind: 'pool_quorum', state: 'pending' }])
  assert.deepEqual([ended.progress, ended.dependents, ended.replayed_as, ended.deliveries], [null, [], null, []])
  const { body: key } = await pool.ask('GET', '/v1/receipts/key')
  for (const receipt of ended.receipts) assert.equal(problemWithReceipt(receipt, key.public_key), null)
  assert.equal((await pool.ask('GET', `/admin/jobs/${jobId}/context`, undefined, pool.client)).status, 403)
})
