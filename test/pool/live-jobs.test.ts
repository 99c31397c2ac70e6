import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLivePoolJobs } from '../../src/doors/pool/live/live-jobs.ts'
import { REQUEST, setupPool } from './pool-parts.ts'

const CLIENT = {
  accountId: REQUEST.clientId,
  username: 'client',
  roles: ['CLIENT'] as const,
  isActive: true,
  createdAt: new Date(0),
}
const LATE_MS = 60_000

test('a page is told of a job that was submitted while this process stood still', async (t) => {
  const { database, engine, pool } = await setupPool(t, { random: Math.random })
  let aheadMs = 0
  const live = openLivePoolJobs({ database, ledger: engine.ledger, clock: { now: () => Date.now() + aheadMs } })
  const told: unknown[] = []
  const { signal } = new AbortController()
  await live.topic.open({
    params: { job_ids: [], new: true },
    since: undefined,
    account: CLIENT,
    send: (type, payload) => told.push({ type, payload }),
    room: async () => true,
  })
  await live.loop.runOnce(signal)

  const submitted = await pool.submitJobs([REQUEST])
  aheadMs = LATE_MS
  await live.loop.runOnce(signal)

  assert(submitted.ok)
  assert.deepEqual(told, [{ type: 'new', payload: { job_ids: submitted.jobIds } }])
})
