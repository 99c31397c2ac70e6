import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newJobId } from '../../src/core/random.ts'
import { setupLedger } from '../support/ledger.ts'
import { note, notes } from './dump.ts'

const LEFT_MS = `select extract(epoch from due_at - clock_timestamp())::float8 * 1000 as ms from jobs`

describe('fail', () => {
  test('a failure that may be retried makes the job pending again, after the wait', async (t) => {
    const { ledger, database, submit, acquire } = await setupLedger(t)
    const held = await acquire(await submit())

    const answer = await ledger.fail({ ...held, error: 'broken pipe', retryMs: 300_000 })

    assert.deepEqual(answer, { ok: true, dead: false })
    const job = await ledger.get(held.jobId)
    assert.deepEqual(
      [job?.state, job?.reason, job?.leaseUntil, job?.finishedAt, job?.attemptId],
      ['pending', null, null, null, 1],
    )
    const [left] = await database.query<{ ms: number }>(LEFT_MS)
    assert(left !== undefined && left.ms > 250_000 && left.ms <= 300_000)
    assert.deepEqual(await ledger.acquire({ jobId: held.jobId, owner: 'w2', leaseMs: 1 }), {
      ok: false,
      code: 'not_due',
    })
  })

  test('the attempt and its error are kept', async (t) => {
    const { ledger, database, submit, acquire } = await setupLedger(t)
    const held = await acquire(await submit())

    await ledger.fail({ ...held, error: 'broken pipe', retryMs: 0 })

    assert.deepEqual(await database.query('select attempt_id, owner, outcome, error from attempts'), [
      { attempt_id: 1, owner: 'w1', outcome: 'failed', error: 'broken pipe' },
    ])
  })

  test('the last attempt that fails buries the job with its error as the reason', async (t) => {
    const { ledger, submit, acquire } = await setupLedger(t)
    const jobId = await submit({ maxAttempts: 2 })
    const dead: boolean[] = []

    for (const error of ['first', 'second']) {
      const answer = await ledger.fail({ ...(await acquire(jobId)), error, retryMs: 0 })
      assert(answer.ok)
      dead.push(answer.dead)
    }

    assert.deepEqual(dead, [false, true])
    const job = await ledger.get(jobId)
    assert.deepEqual([job?.state, job?.reason, job?.dueAt], ['dead', 'second', null])
    assert(job?.finishedAt instanceof Date)
  })

  test('a final failure buries the job whatever attempts are left', async (t) => {
    const { ledger, submit, acquire } = await setupLedger(t)
    const held = await acquire(await submit({ maxAttempts: null }))

    const answer = await ledger.fail({ ...held, error: 'unreadable', retryMs: null })

    assert.deepEqual(answer, { ok: true, dead: true })
    assert.equal((await ledger.get(held.jobId))?.state, 'dead')
  })

  test('abandoned attempts count towards the last one', async (t) => {
    const { ledger, submit, acquire, expireLease } = await setupLedger(t)
    const jobId = await submit({ maxAttempts: 2 })
    await acquire(jobId)
    await expireLease(jobId)

    const answer = await ledger.fail({ ...(await acquire(jobId)), error: 'x', retryMs: 0 })

    assert.deepEqual(answer, { ok: true, dead: true })
  })

  test('effects happen when the job dies of it, and not when it will be tried again', async (t) => {
    const { ledger, database, submit, acquire } = await setupLedger(t)
    const dying = await acquire(await submit({ maxAttempts: 1 }))
    const retried = await acquire(await submit({ maxAttempts: 2 }))

    await Promise.all(
      [dying, retried].map((job) => ledger.fail({ ...job, error: 'x', retryMs: 0, effects: [note(job.jobId)] })),
    )

    assert.deepEqual(await notes(database), [dying.jobId])
  })

  test('a job that failed goes behind those that became ready while it waited', async (t) => {
    const { ledger, submit, acquire, database } = await setupLedger(t)
    const failed = await acquire(await submit())
    await ledger.fail({ ...failed, error: 'x', retryMs: 60_000 })
    const other = await submit()
    await database.query(`update jobs set due_at = clock_timestamp() where due_at is not null`)
    await ledger.promoteDue(10)

    const [first] = (await ledger.acquireNextFrom(null, { kind: 'echo', limit: 1, owner: 'w1', leaseMs: 1000 })).jobs

    assert.equal(first?.jobId, other)
  })

  test('an error text that a database cannot hold is shortened and cleaned, not refused', async (t) => {
    const { ledger, submit, acquire } = await setupLedger(t)
    const held = await acquire(await submit())

    const answer = await ledger.fail({ ...held, error: `a\0b${'x'.repeat(3996)}😀`, retryMs: null })

    assert.deepEqual(answer, { ok: true, dead: true })
    assert.equal((await ledger.get(held.jobId))?.reason, `ab${'x'.repeat(3996)}\ufffd`)
  })
})

describe('release', () => {
  test('the job is pending at once, keeps its place, and the attempt is kept in the history', async (t) => {
    const { ledger, database, submit, acquire } = await setupLedger(t)
    const held = await acquire(await submit())
    const before = await database.query('select rank from jobs')

    const answer = await ledger.release(held)

    assert.deepEqual(answer, { ok: true })
    assert.deepEqual(await database.query('select rank from jobs'), before)
    assert.deepEqual(await database.query('select state, due_at, lease_until, releases from jobs'), [
      { state: 'pending', due_at: null, lease_until: null, releases: 1 },
    ])
    assert.deepEqual(await database.query('select attempt_id, owner, outcome from attempts'), [
      { attempt_id: 1, owner: 'w1', outcome: 'released' },
    ])
    assert.equal((await acquire(held.jobId, 'w2')).attemptId, 2)
  })

  test('released attempts do not count: the job still has all its attempts', async (t) => {
    const { ledger, submit, acquire, expireLease } = await setupLedger(t)
    const jobId = await submit({ maxAttempts: 2 })
    for (let n = 0; n < 4; n += 1) await ledger.release(await acquire(jobId))

    const fifth = await ledger.fail({ ...(await acquire(jobId)), error: 'x', retryMs: 0 })
    const sixth = await acquire(jobId)
    await expireLease(jobId)

    assert.deepEqual(fifth, { ok: true, dead: false })
    assert.equal(sixth.attemptId, 6)
    assert.deepEqual(await ledger.acquire({ jobId, owner: 'w2', leaseMs: 1 }), { ok: false, code: 'exhausted' })
  })

  test('its effects commit with it', async (t) => {
    const { ledger, database, submit, acquire } = await setupLedger(t)
    const held = await acquire(await submit())

    await ledger.release({ ...held, effects: [note(held.jobId)] })

    assert.deepEqual(await notes(database), [held.jobId])
  })

  test('with a delay nobody gets the job before it is due or promoted; the history says why', async (t) => {
    const { ledger, submit, acquire } = await setupLedger(t)
    const held = await acquire(await submit({ priority: 7 }))
    const { jobId } = held

    await ledger.release({ ...held, delayMs: 3_600_000, note: 'waits for a reason' })
    const early = await ledger.acquire({ jobId, owner: 'w2', leaseMs: 1000 })
    const promoted = await ledger.promote([jobId, newJobId()])
    const again = await ledger.promote([jobId])

    assert.deepEqual(early, { ok: false, code: 'not_due' })
    assert.deepEqual([promoted, again], [[{ jobId, kind: 'echo', priority: 7 }], []])
    assert.equal((await acquire(jobId, 'w2')).attemptId, 2)
    const job = await ledger.get(jobId)
    assert(job !== null)
    const released = (await ledger.history(job)).find(({ what }) => what === 'released')
    assert.equal(released?.detail, 'waits for a reason')
  })
})
