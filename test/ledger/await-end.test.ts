import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { openDatabase } from '../../src/core/db/database.ts'
import type { Bus } from '../../src/core/events/bus.ts'
import { openPostgresBus } from '../../src/core/events/postgres-bus.ts'
import { atEnd } from '../support/cleanup.ts'
import { deafBus, openTestLedger, setupLedger } from '../support/ledger.ts'
import { UNKNOWN_JOB } from './dump.ts'

const LONG = { timeoutMs: 60_000 }
const live = () => new AbortController().signal

/** Another process: pools, bus and ledger of its own on the same database. */
async function secondLedger(t: TestContext, at: Awaited<ReturnType<typeof setupLedger>>['at'], bus?: Bus) {
  const database = openDatabase(at, () => {})
  const its = bus ?? (await openPostgresBus(database, (error) => assert.fail(String(error))))
  const ledger = openTestLedger({ database, bus: its })
  atEnd(t, async () => {
    ledger.close()
    await its.close()
    await database.close()
  })
  return ledger
}

describe('awaiting the end of a job', () => {
  test('it resolves with the result as soon as the job is done', async (t) => {
    const { ledger, submit, acquire } = await setupLedger(t)
    const held = await acquire(await submit())
    const waits = [ledger.awaitEnd(held.jobId, LONG), ledger.awaitEnd(held.jobId, LONG)]

    await ledger.finalize({ ...held, result: 42 })

    for (const job of await Promise.all(waits)) assert.deepEqual([job?.state, job?.result], ['done', 42])
  })

  test('death ends the wait too, whichever way the job dies', async (t) => {
    const { ledger, submit, acquire } = await setupLedger(t)
    const [a, b, c] = [await submit(), await submit(), await submit()]
    const waits = [a, b, c].map((jobId) => ledger.awaitEnd(jobId, LONG))

    await ledger.cancel({ jobId: a, reason: 'cancelled' })
    await ledger.bury({ jobId: b, reason: 'buried' })
    await ledger.fail({ ...(await acquire(c)), error: 'failed', retryMs: null })

    assert.deepEqual(
      (await Promise.all(waits)).map((job) => job?.reason),
      ['cancelled', 'buried', 'failed'],
    )
  })

  test('a job that ended before anyone waited is answered at once, and an unknown one with null', async (t) => {
    const { ledger, submit } = await setupLedger(t)
    const jobId = await submit()
    await ledger.cancel({ jobId, reason: 'x' })

    assert.equal((await ledger.awaitEnd(jobId, LONG))?.state, 'dead')
    assert.equal(await ledger.awaitEnd(UNKNOWN_JOB, LONG), null)
  })

  test('a failure that will be retried does not end the wait; after the time-out the answer is the current state', async (t) => {
    const { ledger, submit, acquire } = await setupLedger(t)
    const jobId = await submit()
    const calledOff = new AbortController()
    let isOver = false
    const before = ledger.awaitEnd(jobId, { ...LONG, signal: calledOff.signal }).finally(() => (isOver = true))

    await ledger.fail({ ...(await acquire(jobId)), error: 'x', retryMs: 600_000 })

    const job = await ledger.awaitEnd(jobId, { timeoutMs: 150 })
    assert.equal(isOver, false)
    calledOff.abort()
    for (const seen of [job, await before]) assert.deepEqual([seen?.state, seen?.attemptId], ['pending', 1])
  })

  test('a wait that is aborted, before or while it waits, answers with the current state', async (t) => {
    const { ledger, submit } = await setupLedger(t)
    const jobId = await submit()
    const calledOff = new AbortController()

    const wait = ledger.awaitEnd(jobId, { ...LONG, signal: calledOff.signal })
    calledOff.abort()
    const late = ledger.awaitEnd(jobId, { ...LONG, signal: calledOff.signal })

    assert.equal((await wait)?.state, 'pending')
    assert.equal((await late)?.state, 'pending')
  })

  test('a door that answers with a row of its own gets it when the job has ended, and the job is not read', async (t) => {
    const { ledger, submit, acquire } = await setupLedger(t)
    const held = await acquire(await submit())
    const rows = new Map([['row', 'open']])
    let reads = 0
    const waits = ledger.openEndWaits<{ jobId: string; row: string }, string>({
      jobIdOf: ({ jobId }) => jobId,
      async read({ row }) {
        reads += 1
        return rows.get(row) ?? 'gone'
      },
      isFinal: (value) => value !== 'open',
    })
    atEnd(t, async () => waits.close())
    const waiting = [1, 2].map(() => waits.wait({ jobId: held.jobId, row: 'row' }, LONG))
    await ledger.get(held.jobId) // their first looks are over
    const before = reads

    rows.set('row', 'closed')
    await ledger.finalize({ ...held, result: 42 })

    assert.deepEqual(await Promise.all(waiting), ['closed', 'closed'])
    assert.equal(reads - before, 1, 'one read answers both')
  })

  test('a wait in another process ends, too', async (t) => {
    const { submit, acquire, ledger, at } = await setupLedger(t)
    const elsewhere = await secondLedger(t, at)
    const held = await acquire(await submit())
    const wait = elsewhere.awaitEnd(held.jobId, LONG)

    await ledger.finalize({ ...held, result: 42 })

    assert.equal((await wait)?.result, 42)
  })

  test('a lost hint delays the answer until the next check, and does not lose it', async (t) => {
    const { submit, acquire, ledger, at } = await setupLedger(t)
    const elsewhere = await secondLedger(t, at, deafBus)
    const held = await acquire(await submit())
    const wait = elsewhere.awaitEnd(held.jobId, LONG)
    await elsewhere.get(held.jobId) // its first look is over
    await ledger.finalize({ ...held, result: 42 })

    for (const loop of elsewhere.loops) await loop.runOnce(live())

    assert.equal((await wait)?.result, 42)
  })
})
