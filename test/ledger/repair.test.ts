import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Kinds } from '../../src/core/executor/endings.ts'
import { echo } from '../../src/core/executor/echo.ts'
import { ATTEMPTS_EXHAUSTED, buryExhausted } from '../../src/core/upkeep.ts'
import { setupLedger } from '../support/ledger.ts'
import { note, notes } from './dump.ts'

describe('promoting what is due', () => {
  test('only delayed jobs whose time has come become ready, the longest due first, up to the limit', async (t) => {
    const { ledger, database, submit } = await setupLedger(t)
    const ids = [
      await submit({ delayMs: 60_000 }),
      await submit({ delayMs: 60_000 }),
      await submit({ delayMs: 60_000 }),
    ]
    const [recent = '', old = '', future = ''] = ids
    const due = `update jobs set due_at = clock_timestamp() - $2 * interval '1 s' where job_id = $1`
    await database.query(due, [recent, 1])
    await database.query(due, [old, 2])

    const first = await ledger.promoteDue(1)
    const rest = await ledger.promoteDue(10)

    assert.deepEqual(first, [{ jobId: old, kind: 'echo', priority: 5 }])
    assert.deepEqual(rest, [{ jobId: recent, kind: 'echo', priority: 5 }])
    const ready = (await ledger.acquireNextFrom(null, { kind: 'echo', limit: 10, owner: 'w1', leaseMs: 1000 })).jobs
    assert.deepEqual(ready.map((job) => job.jobId).toSorted(), [recent, old].toSorted())
    assert.equal((await ledger.get(future))?.state, 'pending')
  })

  test('it returns how long the next one has to wait, or null', async (t) => {
    const { ledger, database, submit } = await setupLedger(t)

    const none = await ledger.nextDueMs()
    await submit({ delayMs: 60_000 })
    const later = await ledger.nextDueMs()
    await database.query(`update jobs set due_at = clock_timestamp() - interval '1 s'`)
    const now = await ledger.nextDueMs()

    assert.equal(none, null)
    assert(later !== null && later > 50_000 && later <= 60_000)
    assert.equal(now, 0)
  })
})

describe('finding what was abandoned', () => {
  test('jobs to take over and jobs to bury are told apart, by kind; live leases are left alone', async (t) => {
    const { ledger, submit, acquire, expireLease } = await setupLedger(t)
    const [live, takeOver, exhausted, other] = [
      await submit(),
      await submit(),
      await submit({ maxAttempts: 1 }),
      await submit({ kind: 'other' }),
    ]
    for (const jobId of [live, takeOver, exhausted, other]) await acquire(jobId)
    for (const jobId of [takeOver, exhausted, other]) await expireLease(jobId)

    const found = async (exhausted: boolean) =>
      (await ledger.findAbandoned({ kinds: ['echo'], exhausted })).map((job) => job.jobId)

    assert.deepEqual(await found(false), [takeOver])
    assert.deepEqual(await found(true), [exhausted])
  })

  test('a long queue is looked through page by page, and then from the start again', async (t) => {
    const { ledger, submit, acquire, expireLease } = await setupLedger(t)
    await ledger.submitMany(Array.from({ length: 10_000 }, () => ({ kind: 'echo', payload: 1 })))
    const { jobId } = await acquire(await submit())
    await expireLease(jobId)

    const passes: string[][] = []
    for (let pass = 0; pass < 4; pass += 1) {
      const found = await ledger.findAbandoned({ kinds: ['echo'], exhausted: false })
      passes.push(found.map((job) => job.jobId))
    }

    assert.deepEqual(passes, [[], [jobId], [], [jobId]])
  })

  test('a job out of attempts is buried with its reason and its door’s effects', async (t) => {
    const { ledger, database, submit, acquire, expireLease } = await setupLedger(t)
    const jobId = await submit({ maxAttempts: 1 })
    await acquire(jobId)
    await expireLease(jobId)
    const kinds = new Kinds()
    kinds.add([{ ...echo, effectsOfDeath: (job: { jobId: string }) => [note(job.jobId)] }])

    const more = await buryExhausted(ledger, kinds)

    assert.equal(more, false)
    const job = await ledger.get(jobId)
    assert.deepEqual([job?.state, job?.reason], ['dead', ATTEMPTS_EXHAUSTED])
    assert.deepEqual(await notes(database), [jobId])
  })
})

describe('finding what waits', () => {
  test('ready jobs older than asked are found in pages, in the order of their rank', async (t) => {
    const { ledger, database, submit } = await setupLedger(t)
    const [a, b, c] = [await submit({ priority: 1 }), await submit({ priority: 9 }), await submit()]
    await submit({ kind: 'other' })
    await submit({ delayMs: 60_000 })
    await database.query(`update jobs set submitted_at = submitted_at - interval '10 s'`)
    await submit()

    const first = await ledger.findWaiting({ kind: 'echo', olderThanMs: 5000, after: null, limit: 2 })
    const second = await ledger.findWaiting({ kind: 'echo', olderThanMs: 5000, after: first.next, limit: 2 })

    assert.deepEqual(
      first.jobs.map((job) => job.jobId),
      [b, c],
    )
    assert.deepEqual(
      second.jobs.map((job) => job.jobId),
      [a],
    )
    assert.equal(second.next, null)
  })
})

describe('deleting old idempotency keys', () => {
  test('keys older than two days go, up to the limit; those of yesterday stay', async (t) => {
    const { ledger, database, submit } = await setupLedger(t)
    for (const key of ['a', 'b', 'c']) await submit({ idempotency: { scope: 's', key, bodyHash: 'h' } })
    const age = `update idempotency_keys set created_at = clock_timestamp() - $2 * interval '1 hour' where key = $1`
    await database.query(age, ['a', 49])
    await database.query(age, ['b', 49])
    await database.query(age, ['c', 25])
    const left = async () => (await database.query('select key from idempotency_keys')).length

    await ledger.deleteOldKeys(1)
    const afterOne = await left()
    await ledger.deleteOldKeys(10)

    assert.equal(afterOne, 2)
    assert.deepEqual(await database.query('select key from idempotency_keys'), [{ key: 'c' }])
  })
})
