import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AcquireAnswer } from '../../src/core/ledger/acquire.ts'
import { setupLedger } from '../support/ledger.ts'
import { dump, note, notes, UNKNOWN_JOB } from './dump.ts'

type World = Awaited<ReturnType<typeof setupLedger>>

const next = async ({ ledger }: World, limit = 1, kind = 'echo') =>
  (await ledger.acquireNextFrom(null, { kind, limit, owner: 'w1', leaseMs: 60_000 })).jobs.map((job) => job.jobId)

describe('acquire by id', () => {
  test('a pending job becomes the owner’s first attempt, with everything that its executor needs', async (t) => {
    const { ledger, submit } = await setupLedger(t)
    const jobId = await submit({
      payload: { n: 2 },
      priority: 3,
      accountId: 4,
      trace: { traceId: 'tr' },
      maxAttempts: 2,
    })

    const answer = await ledger.acquire({ jobId, owner: 'w1', leaseMs: 30_000 })

    assert.deepEqual(answer, {
      ok: true,
      job: {
        jobId,
        kind: 'echo',
        payload: { n: 2 },
        priority: 3,
        attemptId: 1,
        owner: 'w1',
        accountId: 4,
        traceId: 'tr',
        wasAbandoned: false,
      },
    })
    const job = await ledger.get(jobId)
    assert.equal(job?.state, 'processing')
    assert.equal(job?.leaseOwner, 'w1')
    assert(job?.startedAt instanceof Date && job.leaseUntil instanceof Date)
    const leaseMs = job.leaseUntil.getTime() - job.startedAt.getTime()
    assert(Math.abs(leaseMs - 30_000) <= 1, `${leaseMs}`)
  })

  test('an abandoned job becomes the next attempt, and the one before it is kept as expired', async (t) => {
    const { ledger, database, submit, acquire, expireLease } = await setupLedger(t)
    const jobId = await submit({ payload: 'p', trace: { traceId: 'tr' } })
    const first = await acquire(jobId, 'w1')
    await expireLease(jobId)

    const second = await acquire(jobId, 'w2')

    assert.deepEqual(second, { ...first, attemptId: 2, owner: 'w2', wasAbandoned: true })
    assert.deepEqual(await database.query('select attempt_id, owner, outcome, error from attempts'), [
      { attempt_id: 1, owner: 'w1', outcome: 'lease_expired', error: null },
    ])
    assert.equal((await ledger.get(jobId))?.leaseOwner, 'w2')
  })

  test('a renewal’s effects are committed with it, and not when it is refused', async (t) => {
    const { ledger, database, submit, acquire } = await setupLedger(t)
    const held = await acquire(await submit())

    await ledger.renew({ ...held, owner: 'somebody else', leaseMs: 1000, effects: [note(held.jobId, 'forged')] })
    await ledger.renew({ ...held, leaseMs: 1000, effects: [note(held.jobId)] })

    assert.deepEqual(await notes(database), [held.jobId])
    assert.deepEqual(await database.query(`select from outbox_events where topic = 'forged'`), [])
  })

  test('a delayed job that is due can be acquired by id before it was promoted', async (t) => {
    const { database, submit, acquire } = await setupLedger(t)
    const jobId = await submit({ delayMs: 60_000 })
    await database.query(`update jobs set due_at = clock_timestamp() - interval '1 ms'`)

    const job = await acquire(jobId)

    assert.equal(job.attemptId, 1)
    assert.deepEqual(await database.query('select due_at from jobs'), [{ due_at: null }])
  })

  test('fresh, abandoned and refused jobs in one batch each get their own answer', async (t) => {
    const { ledger, submit, acquire, expireLease } = await setupLedger(t)
    const ids = [await submit(), await submit(), await submit(), UNKNOWN_JOB]
    const [, abandoned = '', busy = ''] = ids
    await acquire(abandoned)
    await expireLease(abandoned)
    await acquire(busy)

    const answers = await Promise.all(ids.map((jobId) => ledger.acquire({ jobId, owner: 'w2', leaseMs: 1000 })))

    assert.deepEqual(
      answers.map((answer) => (answer.ok ? answer.job.attemptId : answer.code)),
      [1, 2, 'lease_still_valid', 'unknown_job'],
    )
  })
})

const REFUSALS: readonly { code: string; name: string; arrange(world: World): Promise<string> }[] = [
  { code: 'unknown_job', name: 'there is no such job', arrange: async () => UNKNOWN_JOB },
  {
    code: 'already_finished',
    name: 'the job is done',
    arrange: async ({ ledger, submit, acquire }) => {
      const held = await acquire(await submit())
      await ledger.finalize({ ...held, result: 1 })
      return held.jobId
    },
  },
  {
    code: 'already_finished',
    name: 'the job is dead',
    arrange: async ({ ledger, submit }) => {
      const jobId = await submit({ delayMs: 60_000 })
      await ledger.cancel({ jobId, reason: 'unwanted' })
      return jobId
    },
  },
  { code: 'not_due', name: 'the job is delayed', arrange: ({ submit }) => submit({ delayMs: 60_000 }) },
  {
    code: 'lease_still_valid',
    name: 'somebody holds the job',
    arrange: async ({ submit, acquire }) => (await acquire(await submit())).jobId,
  },
  {
    code: 'lease_still_valid',
    name: 'somebody holds the last attempt: valid comes before exhausted',
    arrange: async ({ submit, acquire }) => (await acquire(await submit({ maxAttempts: 1 }))).jobId,
  },
  {
    code: 'exhausted',
    name: 'the last attempt was abandoned',
    arrange: async ({ submit, acquire, expireLease }) => {
      const { jobId } = await acquire(await submit({ maxAttempts: 1 }))
      await expireLease(jobId)
      return jobId
    },
  },
]

describe('acquire is refused and changes nothing', () => {
  for (const { code, name, arrange } of REFUSALS) {
    test(`${code} when ${name}`, async (t) => {
      const world = await setupLedger(t)
      const jobId = await arrange(world)
      const before = await dump(world.database)

      const answer = await world.ledger.acquire({ jobId, owner: 'w2', leaseMs: 1000 })

      assert.deepEqual(answer, { ok: false, code })
      assert.deepEqual(await dump(world.database), before)
    })
  }

  test('a job with no limit of attempts is never exhausted', async (t) => {
    const { submit, acquire, expireLease } = await setupLedger(t)
    const jobId = await submit({ maxAttempts: null })

    for (let attempt = 1; attempt <= 8; attempt += 1) {
      assert.equal((await acquire(jobId)).attemptId, attempt)
      await expireLease(jobId)
    }
  })
})

describe('the effects of an acquire', () => {
  const noting = (jobId: string, topic?: string) => ({
    jobId,
    owner: 'w2',
    leaseMs: 60_000,
    effects: () => [note(jobId, topic)],
  })

  test('get the attempt number, and happen only for jobs that were acquired', async (t) => {
    const { ledger, database, submit, acquire, expireLease } = await setupLedger(t)
    const ids = [await submit(), await submit(), await submit()]
    const [fresh = '', abandoned = '', busy = ''] = ids
    await acquire(abandoned)
    await expireLease(abandoned)
    await acquire(busy)
    const attempts: number[] = []

    await Promise.all(
      ids.map((jobId) =>
        ledger.acquire({
          ...noting(jobId),
          effects: (job) => {
            attempts.push(job.attemptId)
            return [note(jobId)]
          },
        }),
      ),
    )

    assert.deepEqual(attempts.toSorted(), [1, 2])
    assert.deepEqual((await notes(database)).toSorted(), [fresh, abandoned].toSorted())
  })

  test('undo their own acquire, and no other, when the database refuses them', async (t) => {
    const { ledger, database, submit } = await setupLedger(t)
    const [twice, other] = [await submit(), await submit()]
    await database.query(`insert into outbox_events (job_id, topic, payload) values ($1, 'note', '{}')`, [twice])

    const [failed, done] = await Promise.allSettled([ledger.acquire(noting(twice)), ledger.acquire(noting(other))])

    assert.equal(failed.status, 'rejected')
    assert(done.status === 'fulfilled' && done.value.ok)
    assert.deepEqual((await ledger.get(twice))?.state, 'pending')
    assert.deepEqual(await notes(database), [twice, other])
  })
})

describe('acquire next', () => {
  test('the higher priority goes first, and among equals the older', async (t) => {
    const world = await setupLedger(t)
    const low = await world.submit({ priority: 1 })
    const older = await world.submit({ priority: 5 })
    const younger = await world.submit({ priority: 5 })
    const high = await world.submit({ priority: 9 })

    const order = [await next(world), await next(world), await next(world), await next(world), await next(world)].flat()

    assert.deepEqual(order, [high, older, younger, low])
  })

  test('one level of priority is worth the ageing time of waiting, and no more', async (t) => {
    const world = await setupLedger(t) // a level is worth 60 s
    const aged = await world.submit({ priority: 4 })
    await world.database.query(`update jobs set rank = rank - 61 * 1000000::bigint`)
    const fresh = await world.submit({ priority: 5 })
    const two = await world.submit({ priority: 6 })

    const order = [await next(world), await next(world), await next(world)].flat()

    assert.deepEqual(order, [two, aged, fresh])
  })

  test('only ready jobs of the kind asked for are taken, no more than the limit', async (t) => {
    const world = await setupLedger(t)
    await world.submit({ kind: 'other' })
    await world.submit({ delayMs: 60_000 })
    await world.acquire(await world.submit())
    const ready = [await world.submit(), await world.submit(), await world.submit()]

    const taken = await next(world, 2)
    const rest = await next(world, 10)

    assert.deepEqual(taken.toSorted(), ready.slice(0, 2).toSorted())
    assert.deepEqual(rest, ready.slice(2))
    assert.deepEqual(await next(world, 10), [])
  })

  test('an abandoned job is taken in its old place, as the next attempt; the one before it is kept as expired', async (t) => {
    const world = await setupLedger(t)
    const { jobId } = await world.acquire(await world.submit(), 'w0')
    await world.submit()
    await world.expireLease(jobId)

    const [job] = (await world.ledger.acquireNextFrom(null, { kind: 'echo', limit: 1, owner: 'w1', leaseMs: 60_000 }))
      .jobs

    assert.deepEqual([job?.jobId, job?.attemptId, job?.owner, job?.wasAbandoned], [jobId, 2, 'w1', true])
    assert.deepEqual(await world.database.query('select attempt_id, owner, outcome from attempts'), [
      { attempt_id: 1, owner: 'w0', outcome: 'lease_expired' },
    ])
  })

  test('an abandoned job that is out of attempts is left to be buried', async (t) => {
    const world = await setupLedger(t)
    const { jobId } = await world.acquire(await world.submit({ maxAttempts: 1 }))
    await world.expireLease(jobId)

    assert.deepEqual(await next(world), [])
  })

  test('jobs taken by kind are fenced like jobs acquired by id', async (t) => {
    const world = await setupLedger(t)
    const jobId = await world.submit({ payload: { n: 3 } })

    const [job] = (await world.ledger.acquireNextFrom(null, { kind: 'echo', limit: 1, owner: 'w1', leaseMs: 60_000 }))
      .jobs

    assert(job !== undefined)
    assert.deepEqual([job.jobId, job.attemptId, job.owner, job.payload], [jobId, 1, 'w1', { n: 3 }])
    assert.deepEqual(await world.ledger.acquire({ jobId, owner: 'w2', leaseMs: 1 }), {
      ok: false,
      code: 'lease_still_valid',
    })
    assert.deepEqual(await world.ledger.finalize({ ...job, result: 1 }), { ok: true })
  })

  test('with a rank to start from, only fresh jobs are taken, and the answer has the last rank', async (t) => {
    const world = await setupLedger(t)
    const { jobId: abandoned } = await world.acquire(await world.submit(), 'w0')
    const early = await world.submit()
    const late = await world.submit()
    await world.expireLease(abandoned)
    const ranks = await world.database.query<{ rank: string }>('select rank from jobs order by rank')
    const [, , last] = ranks.map(({ rank }) => Number(rank))
    const request = { kind: 'echo', limit: 10, owner: 'w1', leaseMs: 60_000 }

    const ahead = await world.ledger.acquireNextFrom(last ?? 0, request)
    const behind = await world.ledger.acquireNextFrom(0, request)

    assert.deepEqual([ahead.jobs.map(({ jobId }) => jobId), ahead.lastRank], [[late], last])
    assert.deepEqual(
      behind.jobs.map(({ jobId }) => jobId),
      [early],
    )
    assert.deepEqual(await world.ledger.acquireNextFrom(0, request), { jobs: [], isOthersTurn: false, lastRank: null })
    assert.deepEqual(await next(world), [abandoned])
  })
})

describe('acquireMany', () => {
  test('each request gets its own answer, in order', async (t) => {
    const world = await setupLedger(t)
    const held = await world.acquire(await world.submit())
    const free = await world.submit()
    const requests = [held.jobId, UNKNOWN_JOB, free].map((jobId) => ({ jobId, owner: 'w2', leaseMs: 60_000 }))

    const answers = await world.ledger.acquireMany(requests)

    assert.deepEqual(answers.map(shown), ['lease_still_valid', 'unknown_job', free])
  })

  test('a job that is named twice is given once', async (t) => {
    const world = await setupLedger(t)
    const jobId = await world.submit()
    const request = { jobId, owner: 'w1', leaseMs: 60_000 }

    const answers = await world.ledger.acquireMany([request, request])

    assert.deepEqual(answers.map(shown), [jobId, 'lease_still_valid'])
  })
})

const shown = (answer: AcquireAnswer): string => (answer.ok ? answer.job.jobId : answer.code)
