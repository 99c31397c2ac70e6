// Which jobs of the pool can be replayed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../support/until.ts'
import { connect, setup } from './setup.ts'

const CANARY = { payload: { canary: 1 }, output: { answer: 'canary 1' } }

test('pool 8.7: a replica or a canary by itself cannot be replayed', async (t) => {
  const pool = await setup(t)
  const worker = await pool.worker('w')
  const database = await connect(t, pool.at)
  const jobId = await pool.submitJob({ replicas: 2, quorum: 2 })
  const canaries = await pool.ask('POST', '/admin/pool/canaries', CANARY, pool.admin)
  assert.equal(canaries.status, 201, canaries.text)
  await pool.submitJob()
  const find = async (field: string) =>
    (await database.query(`select job_id from jobs where kind = 'pool' and payload->>'${field}' is not null`)).rows
  await until('there is a canary', async () => {
    await pool.poll(worker)
    return (await find('canary_id')).length > 0
  })
  const dead = [(await find('quorum_id'))[0], (await find('canary_id'))[0]].map((row) => String(row?.job_id))
  for (const id of dead) await pool.ask('POST', `/admin/jobs/${id}/cancel`, {}, pool.admin)

  const [replica, canary] = await Promise.all(
    dead.map((id) => pool.ask('POST', `/admin/jobs/${id}/replay`, undefined, pool.admin)),
  )

  assert.deepEqual([replica?.status, canary?.status], [409, 409])
  assert.match(JSON.stringify(replica?.body), new RegExp(`replay the replicated job ${jobId} instead`))
  assert.match(JSON.stringify(canary?.body), /A canary cannot be replayed/)
  const { rows } = await database.query('select from jobs where replay_of is not null')
  assert.deepEqual(rows, [])
})
