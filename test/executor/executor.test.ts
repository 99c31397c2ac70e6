import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { describe, test } from 'node:test'
import { JobFailed } from '../../src/core/executor/kind.ts'
import { note, notes } from '../ledger/dump.ts'
import { until } from '../support/until.ts'
import { endlessWork, first, gatedWork, setupExecutor } from './setup.ts'

describe('an executor', () => {
  test('a job is taken, done, recorded with its effects, and acknowledged after that', async (t) => {
    const { ledger, database, said, start, submit } = await setupExecutor(t)
    const jobId = await submit({ payload: 20 })
    const acknowledged = once(said, 'acknowledged')
    const order: string[] = []
    said.on('finalized', () => order.push('finalized')).on('acknowledged', () => order.push('acknowledged'))

    start(async (job) => ({ result: [job.payload, job.attemptId, job.owner], effects: [note(jobId)] }))
    await acknowledged

    const job = await ledger.get(jobId)
    assert.deepEqual([job?.state, job?.result], ['done', [20, 1, 'executor']])
    assert.deepEqual(await notes(database), [jobId])
    assert.deepEqual(order, ['finalized', 'acknowledged'])
  })

  test('no more jobs run than there are slots, and a free slot is filled at once', async (t) => {
    const { said, start, submit } = await setupExecutor(t)
    for (let n = 0; n < 12; n += 1) await submit()
    const done = first(said, 'acknowledged', 12)
    let inWork = 0
    let most = 0

    start(
      async () => {
        inWork += 1
        most = Math.max(most, inWork)
        await new Promise((resolve) => setImmediate(resolve))
        inWork -= 1
        return { result: 1 }
      },
      { slots: 3 },
    )
    await done

    assert.equal(most, 3)
  })

  test('after a take that was full, with slots left, more jobs are asked for before the first begins', async (t) => {
    const { ledger, feed, said, start } = await setupExecutor(t)
    const jobs = 1001 // one more than a take brings
    await ledger.submitMany(Array.from({ length: jobs }, () => ({ kind: 'echo', payload: 1 })))
    const done = first(said, 'acknowledged', jobs)
    const order: string[] = []
    const take: typeof feed.take = (request) => {
      order.push('take')
      return feed.take(request)
    }

    start(
      async () => {
        order.push('work')
        return { result: 1 }
      },
      { slots: 2 * jobs, feed: { ...feed, take } },
    )
    await done

    assert.deepEqual(order.slice(0, 3), ['take', 'take', 'work'])
  })

  test('a slot counts as busy while its job runs', async (t) => {
    const { metrics, said, start, submit } = await setupExecutor(t)
    const busy = async () => (await metrics.slotsBusy.get()).values.map(({ value }) => value)
    const { run, began, open } = gatedWork()
    const done = once(said, 'acknowledged')
    start(run)
    await submit()
    await began

    const during = await busy()
    open()
    await done

    assert.deepEqual(during, [1])
    await until('the slot is free', async () => (await busy())[0] === 0)
  })

  test('the lease is renewed while the work goes on', async (t) => {
    const { ledger, said, start, submit } = await setupExecutor(t)
    const renewals = first(said, 'renewed', 3)
    const { run, began, open } = gatedWork()
    start(run)
    const jobId = await submit()
    await began
    const before = await ledger.get(jobId)

    const answers = await renewals
    const during = await ledger.get(jobId)
    const finalized = once(said, 'finalized')
    open()
    await finalized

    assert.deepEqual(answers, [{ ok: true }, { ok: true }, { ok: true }])
    assert((during?.leaseUntil ?? 0) > (before?.leaseUntil ?? 0))
    assert.equal((await ledger.get(jobId))?.result, 'late')
  })
})

describe('work that fails because a server is away', () => {
  test('is tried again after the first wait, whatever attempt it was', async (t) => {
    const { database, ledger, start, submit } = await setupExecutor(t)
    const jobId = await ledger.submit({ kind: 'later', payload: 1 }).then((answer) => (answer.ok ? answer.jobId : ''))
    await database.query(`update jobs set attempt_id = 3, kind = 'echo' where job_id = $1`, [jobId])
    start(async () => {
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    })
    await submit() // rings the bell

    const hasFailed = ({ attemptId, state }: { attemptId: number; state: string }) =>
      attemptId === 4 && state === 'pending'
    await until('it has failed', async () => {
      const seen = await ledger.get(jobId)
      return seen !== null && hasFailed(seen)
    })
    const job = await ledger.get(jobId)
    const waitMs = (job?.dueAt?.getTime() ?? 0) - Date.now()
    assert(waitMs > 0 && waitMs < 12_000, `it waits ${waitMs} ms`)
  })
})

describe('a lease that is lost', () => {
  test('aborts the work; its result is not recorded, and its entry is not acknowledged', async (t) => {
    const { ledger, said, start, submit, expireLease } = await setupExecutor(t)
    said.on('finalized', () => assert.fail('handed in')).on('failed', () => assert.fail('handed in'))
    said.on('acknowledged', () => assert.fail('acknowledged'))
    const { run, began, ended } = endlessWork()
    const takeover = new EventEmitter()
    const takenOver = once(takeover, 'done')
    // A heartbeat that found the lease expired and the job not yet taken over would free the slot for a second attempt here.
    const renew: typeof ledger.renew = (request) => takenOver.then(() => ledger.renew(request))
    const executor = start(run, { slots: 1, ledger: { ...ledger, renew } }) // a free slot would take it over
    const jobId = await submit()
    await began

    await expireLease(jobId)
    const taken = await ledger.acquire({ jobId, owner: 'other', leaseMs: 60_000 })
    takeover.emit('done')
    assert(taken.ok)
    await ended
    await executor.drain(5000)

    const job = await ledger.get(jobId)
    assert.deepEqual([job?.state, job?.attemptId, job?.leaseOwner, job?.result], ['processing', 2, 'other', null])
  })

  test('a job that is cancelled is aborted at the next heartbeat', async (t) => {
    const { ledger, start, submit } = await setupExecutor(t)
    const { run, began, ended } = endlessWork()
    start(run)
    const jobId = await submit()
    await began

    await ledger.cancel({ jobId, reason: 'unwanted' })
    await ended

    assert.equal((await ledger.get(jobId))?.reason, 'unwanted')
  })

  test('renewals that cannot reach the ledger abort the work before the lease is over', async (t) => {
    const leaseMs = 4000
    const { ledger, start, submit, metrics } = await setupExecutor(t, [], { leaseMs })
    const { run, began, ended } = endlessWork()
    const unreachable = { ...ledger, renew: () => Promise.reject(new Error('connection refused')) }
    let abortedAt = 0
    start(
      async (job, context) => {
        context.signal.addEventListener('abort', () => (abortedAt = Date.now()))
        return run(job, context)
      },
      { ledger: unreachable, heartbeatMs: leaseMs / 2 },
    )
    const jobId = await submit()
    await began

    await ended

    const leaseUntil = (await ledger.get(jobId))?.leaseUntil?.getTime() ?? 0
    assert(abortedAt < leaseUntil, `aborted ${abortedAt - leaseUntil} ms after the lease`)
    const { values } = await metrics.heartbeats.get()
    const counted = values.map(({ labels }) => `${labels['status']} ${labels['reason']}`)
    assert.deepEqual(counted.toSorted(), ['error db_error_heartbeat', 'lost db_error_heartbeat'])
  })

  test('a result that comes too late for its lease is refused, and the entry stays with the feed', async (t) => {
    const { ledger, said, start, submit, expireLease, metrics } = await setupExecutor(t)
    said.on('acknowledged', () => assert.fail('acknowledged'))
    const { run, began, open } = gatedWork()
    const executor = start(run, { heartbeatMs: 60_000 })
    const jobId = await submit()
    await began
    const finalized = once(said, 'finalized')

    const drained = executor.drain(60_000) // it takes no job any more: it would take this one again
    await expireLease(jobId)
    open()

    assert.deepEqual(await finalized, [{ ok: false, code: 'lease_lost_or_owner_mismatch' }])
    await drained
    assert.equal((await ledger.get(jobId))?.state, 'processing')
    const { values } = await metrics.finalizeRejections.get()
    assert.deepEqual(
      values.map(({ labels, value }) => [labels.reason, value]),
      [['lease_lost_or_owner_mismatch', 1]],
    )
  })
})

describe('work that fails', () => {
  test('is tried again after a wait that grows, and is dead after the last attempt', async (t) => {
    const { ledger, database, said, start, submit, ring } = await setupExecutor(t)
    const waits: number[] = []
    said.on('failed', (_, request: { retryMs: number }) => waits.push(request.retryMs))
    const jobId = await submit({ maxAttempts: 3 })
    const answers: unknown[] = []

    start(async () => {
      throw new JobFailed('no luck')
    })
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      answers.push(...(await once(said, 'acknowledged')))
      await database.query('update jobs set due_at = clock_timestamp() where due_at is not null')
      await ledger.promoteDue(1)
      ring()
    }

    assert.deepEqual(answers, [jobId, jobId, jobId])
    const job = await ledger.get(jobId)
    assert.deepEqual([job?.state, job?.reason, job?.attemptId], ['dead', 'no luck', 3])
    for (const [index, ms] of [10_000, 20_000, 20_000].entries()) {
      const wait = waits[index] ?? 0
      assert(wait >= ms * 0.85 && wait <= Math.min(20_000, ms * 1.15), `${wait}`)
    }
  })

  test('for good is dead at once, with its door’s effects', async (t) => {
    const { ledger, database, said, start, submit } = await setupExecutor(t)
    const acknowledged = once(said, 'acknowledged')
    const run = async () => {
      throw new JobFailed('unreadable', { final: true })
    }
    const effectsOfDeath = (job: { jobId: string }, reason: string) => [
      note(job.jobId, reason === 'unreadable' ? 'note' : 'other'),
    ]

    start(run, { kind: { name: 'echo', run, effectsOfDeath } })
    const jobId = await submit()
    await acknowledged

    const job = await ledger.get(jobId)
    assert.deepEqual([job?.state, job?.reason, job?.attemptId], ['dead', 'unreadable', 1])
    assert.deepEqual(await notes(database), [jobId])
  })

  test('with an unexpected error does not show that error to people', async (t) => {
    const { ledger, said, start, submit } = await setupExecutor(t)
    const acknowledged = once(said, 'acknowledged')

    start(async () => {
      throw new Error('password=hunter2')
    })
    const jobId = await submit({ maxAttempts: 1 })
    await acknowledged

    assert.equal((await ledger.get(jobId))?.reason, 'Internal error while working on the job.')
  })

  test('a result that the database cannot hold fails its attempt, and is not repeated for ever', async (t) => {
    const { ledger, said, start, submit } = await setupExecutor(t)
    const acknowledged = once(said, 'acknowledged')

    start(async () => ({ result: 'nul: \0' }))
    const jobId = await submit({ maxAttempts: 1 })
    await acknowledged

    const job = await ledger.get(jobId)
    assert.deepEqual([job?.state, job?.reason], ['dead', 'The result cannot be stored.'])
  })
})

test('while the database is away the result is sent again until it is recorded', async (t) => {
  const { ledger, said, start, submit, metrics } = await setupExecutor(t)
  const acknowledged = once(said, 'acknowledged')
  let outages = 2
  const flaky = {
    ...ledger,
    finalize: (request: Parameters<typeof ledger.finalize>[0]) =>
      outages-- > 0 ? Promise.reject(new Error('connection refused')) : ledger.finalize(request),
  }
  let runs = 0

  start(
    async () => {
      runs += 1
      return { result: 'kept' }
    },
    { ledger: flaky },
  )
  const jobId = await submit()
  await acknowledged

  assert.equal((await ledger.get(jobId))?.result, 'kept')
  assert.equal(runs, 1)
  assert.equal((await metrics.finalizeErrors.get()).values[0]?.value, 2)
})

describe('a drain', () => {
  test('takes nothing more and waits for the work in flight', async (t) => {
    const { ledger, said, start, submit } = await setupExecutor(t)
    const { run, began, open } = gatedWork()
    const executor = start(run, { slots: 1 })
    const inWork = await submit()
    await began
    const renewed = first(said, 'renewed', 2)

    const drained = executor.drain(60_000)
    const later = await submit()
    await renewed // the lease is kept while it waits
    const during = await ledger.get(inWork)
    open()
    await drained

    assert.equal(during?.state, 'processing')
    assert.deepEqual([(await ledger.get(inWork))?.state, (await ledger.get(later))?.attemptId], ['done', 0])
  })

  test('when its time is up it interrupts the work and gives the job back, to be taken at once', async (t) => {
    const { ledger, said, start, submit, acquire } = await setupExecutor(t)
    said.on('finalized', () => assert.fail('handed in')).on('failed', () => assert.fail('handed in'))
    const [announced, acknowledged] = [once(said, 'announced'), once(said, 'acknowledged')]
    const { run, began, ended } = endlessWork()
    const executor = start(run)
    const jobId = await submit({ maxAttempts: 1 })
    await began

    await executor.drain(0)
    await ended

    assert.deepEqual(await announced, [[{ jobId, kind: 'echo', priority: 5 }]])
    assert.deepEqual(await acknowledged, [jobId])
    const other = await acquire(jobId, 'other')
    assert.equal(other.attemptId, 2)
    assert.deepEqual([other.owner, (await ledger.get(jobId))?.result], ['other', null])
  })

  test('a job that a take brings during the drain is work in flight like any other', async (t) => {
    const { ledger, feed, start, submit } = await setupExecutor(t)
    const jobId = await submit()
    const { run, began, open } = gatedWork()
    const slowFeed = {
      ...feed,
      async take(request: Parameters<typeof feed.take>[0]) {
        if (!request.signal.aborted) await once(request.signal, 'abort')
        return feed.take(request)
      },
    }
    const executor = start(run, { feed: slowFeed })

    const drained = executor.drain(60_000)
    await began
    open()
    await drained

    assert.equal((await ledger.get(jobId))?.state, 'done')
  })
})
