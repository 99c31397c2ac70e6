// A job that waits for another one holds nothing meanwhile, and goes on when that one has ended.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test, type TestContext } from 'node:test'
import { note, notes } from '../ledger/dump.ts'
import { setupExecutor } from './setup.ts'

const HOUR_MS = 3_600_000

/** One slot, and work that waits for the other job until that has ended. */
async function setup(t: TestContext) {
  const world = await setupExecutor(t)
  const { ledger, submit, start, said, acquire } = world
  const other = await submit({ kind: 'other' })
  const runs: number[] = []
  const begin = () =>
    start(
      async ({ jobId, payload, attemptId }) => {
        if (payload === 'quick') return { result: 'quick' }
        runs.push(attemptId)
        const ended = await ledger.get(other)
        if (ended?.state === 'done') return { result: ended.result }
        return { waitsFor: other, lookAgainMs: HOUR_MS, effects: [note(jobId)] }
      },
      { slots: 1 },
    )
  const endOther = async () => {
    const held = await acquire(other, 'somebody')
    await ledger.finalize({ ...held, result: 'by somebody' })
  }
  const acknowledged = () => once(said, 'acknowledged')
  return { ...world, runs, begin, endOther, acknowledged }
}

describe('a job that waits for another', () => {
  test('is given back with its effects, holds no slot and no lease, and the attempt does not count', async (t) => {
    const { ledger, database, begin, submit, acknowledged } = await setup(t)
    const waiting = acknowledged()
    const jobId = await submit({ maxAttempts: 1 })
    begin()
    await waiting

    const quickDone = acknowledged()
    const quick = await submit({ payload: 'quick' })
    await quickDone

    const job = await ledger.get(jobId)
    assert.deepEqual([job?.state, job?.leaseUntil, (await ledger.get(quick))?.result], ['pending', null, 'quick'])
    assert((job?.dueAt?.getTime() ?? 0) > Date.now() + HOUR_MS / 2)
    assert.deepEqual(await notes(database), [jobId])
  })

  test('is woken when the other one ends', async (t) => {
    const { ledger, begin, submit, endOther, acknowledged, runs } = await setup(t)
    const waiting = acknowledged()
    const jobId = await submit({ maxAttempts: 1 })
    begin()
    await waiting

    const done = acknowledged()
    await endOther()
    await done

    const job = await ledger.get(jobId)
    assert.deepEqual([job?.state, job?.result, runs], ['done', 'by somebody', [1, 2]])
  })

  test('is woken as well if the other one ends while it is being given back', async (t) => {
    const { ledger, start, submit, acquire, acknowledged } = await setupWithRace(t)
    const [other, jobId] = [await submit({ kind: 'other' }), await submit()]
    const done = acknowledged(2)
    start(
      async ({ attemptId }) =>
        attemptId === 1 ? { waitsFor: other, lookAgainMs: HOUR_MS } : { result: (await ledger.get(other))?.result },
      {
        ledger: {
          ...ledger,
          async release(request) {
            const held = await acquire(other, 'somebody')
            await ledger.finalize({ ...held, result: 'just now' })
            return ledger.release(request)
          },
        },
      },
    )
    await done

    assert.equal((await ledger.get(jobId))?.result, 'just now')
  })

  test('does not hold up a stop, and is picked up by whoever comes next', async (t) => {
    const { ledger, begin, submit, endOther, acknowledged } = await setup(t)
    const waiting = acknowledged()
    const jobId = await submit()
    const first = begin()
    await waiting

    await first.drain(60_000)
    await endOther()
    const before = await ledger.get(jobId)
    const done = acknowledged()
    await ledger.promote([jobId]) // as the loop does that lets delayed jobs in
    begin()
    await done

    assert.deepEqual([before?.state, (await ledger.get(jobId))?.result], ['pending', 'by somebody'])
  })
})

async function setupWithRace(t: TestContext) {
  const world = await setupExecutor(t)
  const acknowledged = async (count: number) => {
    for (let seen = 0; seen < count; seen += 1) await once(world.said, 'acknowledged')
  }
  return { ...world, acknowledged }
}
