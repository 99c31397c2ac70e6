import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setupLedger } from '../support/ledger.ts'
import { note, notes, UNKNOWN_JOB } from './dump.ts'

describe('finalize', () => {
  test('the result is recorded, the lease ends, and the last owner stays known', async (t) => {
    const { ledger, submit, acquire } = await setupLedger(t)
    const held = await acquire(await submit())

    const answer = await ledger.finalize({ ...held, result: { verdict: 'AC' } })

    assert.deepEqual(answer, { ok: true })
    const job = await ledger.get(held.jobId)
    assert.equal(job?.state, 'done')
    assert.deepEqual(job?.result, { verdict: 'AC' })
    assert.equal(job?.leaseUntil, null)
    assert.deepEqual([job?.leaseOwner, job?.lastOwner], [null, 'w1'])
    assert(job?.finishedAt instanceof Date)
  })

  test('payload and result come back byte for byte: number lexemes, key order and all', async (t) => {
    const { ledger, database, submit, acquire } = await setupLedger(t)
    const value = { z: 1, a: [1e21, 0.1, 'ü\u2028"\\', {}, null], 10: true }

    const held = await acquire(await submit({ payload: value }))
    await ledger.finalize({ ...held, result: value })

    const text = JSON.stringify(value)
    assert.equal(JSON.stringify(held.payload), text)
    assert.deepEqual(await database.query('select payload::text as payload, result::text as result from jobs'), [
      { payload: text, result: text },
    ])
  })

  test('an undefined result is stored as null', async (t) => {
    const { ledger, submit, acquire } = await setupLedger(t)
    const held = await acquire(await submit())

    await ledger.finalize({ ...held, result: undefined })

    const job = await ledger.get(held.jobId)
    assert.equal(job?.state, 'done')
    assert.equal(job?.result, null)
  })

  test('effects commit with the result, one statement for all calls of a batch', async (t) => {
    const { ledger, database, submit, acquire } = await setupLedger(t)
    const held = await Promise.all((await Promise.all([submit(), submit(), submit()])).map((id) => acquire(id)))

    const answers = await Promise.all(
      held.map((job) => ledger.finalize({ ...job, result: 1, effects: [note(job.jobId)] })),
    )

    assert.deepEqual(answers, [{ ok: true }, { ok: true }, { ok: true }])
    assert.deepEqual((await notes(database)).toSorted(), held.map((job) => job.jobId).toSorted())
  })

  test('in one batch, the effects of the refused call do not happen and those of its neighbours do', async (t) => {
    const { ledger, database, submit, acquire } = await setupLedger(t)
    const mine = await acquire(await submit())
    const lost = { ...(await acquire(await submit())), owner: 'w2' }

    const answers = await Promise.all(
      [mine, lost].map((job) => ledger.finalize({ ...job, result: 1, effects: [note(job.jobId)] })),
    )

    assert.deepEqual(answers, [{ ok: true }, { ok: false, code: 'lease_lost_or_owner_mismatch' }])
    assert.deepEqual(await notes(database), [mine.jobId])
  })

  for (const [which, resultOf] of [
    ['equal results', () => null],
    ['results of their own', (n: number) => ({ n })],
  ] as const)
    test(`of a batch with ${which} exactly the calls that hold their job are recorded`, async (t) => {
      const { ledger, submit, acquire, expireLease } = await setupLedger(t)
      const held = await Promise.all(
        (await Promise.all(Array.from({ length: 6 }, () => submit()))).map((id) => acquire(id)),
      )
      const [first, stale, stolen, expired, finished, last] = held
      assert(first && stale && stolen && expired && finished && last)
      for (const { jobId } of [stale, expired]) await expireLease(jobId)
      await acquire(stale.jobId) // by the same owner: only the attempt tells them apart
      await ledger.finalize({ ...finished, result: 'before' })
      const calls = [first, stale, { ...stolen, owner: 'w2' }, expired, finished, { ...last, jobId: UNKNOWN_JOB }, last]

      const answers = await Promise.all(calls.map((job, n) => ledger.finalize({ ...job, result: resultOf(n) })))

      assert.deepEqual(
        answers.map((answer) => (answer.ok ? 'ok' : answer.code)),
        [
          'ok',
          'stale_attempt',
          'lease_lost_or_owner_mismatch',
          'lease_lost_or_owner_mismatch',
          'already_finished',
          'unknown_job',
          'ok',
        ],
      )
      const seen = await Promise.all(held.map(({ jobId }) => ledger.get(jobId)))
      assert.deepEqual(
        seen.map((job) => [job?.state, job?.result]),
        [
          ['done', resultOf(0)],
          ['processing', null],
          ['processing', null],
          ['processing', null],
          ['done', 'before'],
          ['done', resultOf(6)],
        ],
      )
    })

  test('an effect that fails takes its own result with it, and not its neighbours’', async (t) => {
    const { ledger, database, submit, acquire } = await setupLedger(t)
    const good = await acquire(await submit())
    const bad = await acquire(await submit())
    const before = await ledger.get(bad.jobId)

    const answers = await Promise.allSettled([
      ledger.finalize({ ...bad, result: 1, effects: [note('not a uuid')] }),
      ledger.finalize({ ...good, result: 1, effects: [note(good.jobId)] }),
    ])

    assert.deepEqual(
      answers.map((answer) => answer.status),
      ['rejected', 'fulfilled'],
    )
    assert.deepEqual(await ledger.get(bad.jobId), before)
    assert.deepEqual(await notes(database), [good.jobId])
  })
})

describe('renew', () => {
  test('the lease starts anew from now, and nothing else changes', async (t) => {
    const { ledger, database, submit, acquire } = await setupLedger(t)
    const held = await acquire(await submit(), 'w1', 30_000)
    const before = await ledger.get(held.jobId)

    const answer = await ledger.renew({ ...held, leaseMs: 60_000 })

    assert.deepEqual(answer, { ok: true })
    assert.deepEqual({ ...(await ledger.get(held.jobId)), leaseUntil: null }, { ...before, leaseUntil: null })
    const [row] = await database.query<{ left: number }>(
      'select extract(epoch from lease_until - clock_timestamp())::float8 as left from jobs',
    )
    assert(row !== undefined && row.left > 50 && row.left <= 60)
  })

  test('no index covers a column of the lease, so that a renewal can be a HOT update', async (t) => {
    const { database } = await setupLedger(t)

    const indexed = await database.query(
      `select indexrelid::regclass::text as name from pg_index
        where indrelid = 'jobs'::regclass and pg_get_indexdef(indexrelid) like '%lease%'`,
    )

    assert.deepEqual(indexed, [])
  })
})
