import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JobSearch } from '../../src/core/ledger/search.ts'
import { setupLedger } from '../support/ledger.ts'

type World = Awaited<ReturnType<typeof setupLedger>>

async function history({ ledger }: World, jobId: string): Promise<string[]> {
  const job = await ledger.get(jobId)
  assert(job !== null)
  const entries = await ledger.history(job)
  assert(entries.every((entry, index) => index === 0 || entry.at >= (entries[index - 1]?.at ?? entry.at)))
  return entries.map(({ what, attemptId, owner, detail }) => [what, attemptId, owner, detail].join(' '))
}

describe('history', () => {
  test('every attempt is there, with who held it and how it ended', async (t) => {
    const world = await setupLedger(t)
    const { ledger, submit, acquire, expireLease } = world
    const jobId = await submit()
    await ledger.release(await acquire(jobId, 'w1'))
    await ledger.fail({ ...(await acquire(jobId, 'w2')), error: 'oops', retryMs: 0 })
    await acquire(jobId, 'w3')
    await expireLease(jobId)
    await ledger.finalize({ ...(await acquire(jobId, 'w4')), result: 1 })

    const entries = await history(world, jobId)

    assert.deepEqual(entries, [
      'submitted 0  ',
      'acquired 1 w1 ',
      'released 1 w1 ',
      'acquired 2 w2 ',
      'failed 2 w2 oops',
      'acquired 3 w3 ',
      'lease_expired 3 w3 ',
      'acquired 4 w4 ',
      'done 4 w4 ',
    ])
  })

  test('a take-over by kind appears in order, too', async (t) => {
    const world = await setupLedger(t)
    const jobId = await world.submit()
    await world.acquire(jobId, 'w1')
    await world.expireLease(jobId)
    await world.ledger.acquireNextFrom(null, { kind: 'echo', limit: 1, owner: 'w2', leaseMs: 1000 })

    const entries = await history(world, jobId)

    assert.deepEqual(entries, ['submitted 0  ', 'acquired 1 w1 ', 'lease_expired 1 w1 ', 'acquired 2 w2 '])
    const [times] = await world.database.query(
      'select attempts.ended_at <= jobs.started_at as ordered from attempts join jobs using (job_id)',
    )
    assert.deepEqual(times, { ordered: true })
  })

  test('a running attempt is the last line', async (t) => {
    const world = await setupLedger(t)
    const jobId = await world.submit()
    await world.acquire(jobId)

    assert.deepEqual(await history(world, jobId), ['submitted 0  ', 'acquired 1 w1 '])
  })

  test('a job that died of a failure shows the failure and the death', async (t) => {
    const world = await setupLedger(t)
    const jobId = await world.submit({ maxAttempts: 1 })
    await world.ledger.fail({ ...(await world.acquire(jobId)), error: 'oops', retryMs: 0 })

    assert.deepEqual(await history(world, jobId), [
      'submitted 0  ',
      'acquired 1 w1 ',
      'failed 1 w1 oops',
      'dead 1 w1 oops',
    ])
  })

  test('a job cancelled before anyone had it shows no attempt', async (t) => {
    const world = await setupLedger(t)
    const jobId = await world.submit()
    await world.ledger.cancel({ jobId, reason: 'unwanted' })

    assert.deepEqual(await history(world, jobId), ['submitted 0  ', 'dead 0  unwanted'])
  })

  test('a replay begins with the job that it repeats', async (t) => {
    const world = await setupLedger(t)
    const old = await world.submit()
    await world.ledger.cancel({ jobId: old, reason: 'unwanted' })
    const answer = await world.ledger.replay(old)
    assert(answer.ok)

    assert.deepEqual(await history(world, answer.jobId), [`submitted 0  ${old}`])
  })
})

describe('search and count', () => {
  test('jobs are found newest first, by any of the filters, page by page', async (t) => {
    const { ledger, submit } = await setupLedger(t)
    const [a = '', b = '', c = ''] = ['a', 'b', 'c'].map((n) => `0190a000-0000-7000-8000-00000000000${n}`)
    await submit({ jobId: a, accountId: 1 })
    await submit({ jobId: b, kind: 'other', accountId: 1 })
    await submit({ jobId: c, accountId: 2 })
    await ledger.cancel({ jobId: a, reason: 'x' })
    const ids = async (search: JobSearch, limit = 10) =>
      (await ledger.search(search, limit)).jobs.map((job) => job.jobId)

    assert.deepEqual(await ids({}), [c, b, a])
    assert.deepEqual(await ids({}, 2), [c, b])
    assert.deepEqual(await ids({ before: b }), [a])
    assert.deepEqual(await ids({ kind: 'echo' }), [c, a])
    assert.deepEqual(await ids({ state: 'dead' }), [a])
    assert.deepEqual(await ids({ accountId: 1, state: 'pending' }), [b])
  })

  test('jobs are counted by kind and state, except finished ones', async (t) => {
    const { ledger, submit, acquire } = await setupLedger(t)
    await submit()
    await submit({ delayMs: 60_000 })
    await acquire(await submit())
    await ledger.finalize({ ...(await acquire(await submit())), result: 1 })
    await ledger.cancel({ jobId: await submit({ kind: 'other' }), reason: 'x' })

    const counts = (await ledger.count()).map(({ kind, state, count }) => `${kind} ${state} ${count}`)

    assert.deepEqual(counts.toSorted(), ['echo pending 2', 'echo processing 1', 'other dead 1'])
  })
})
