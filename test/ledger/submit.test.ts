import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { numbersParam } from '../../src/core/db/params.ts'
import type { FreshJobs } from '../../src/core/ledger/ledger.ts'
import type { GuardedParts } from '../../src/core/ledger/submit/submit-guarded.ts'
import { openTestLedger, setupLedger } from '../support/ledger.ts'
import { dump, note, notes } from './dump.ts'

const keyed = (key: string, bodyHash = 'b1') => ({ idempotency: { scope: 'door:1', key, bodyHash } })

describe('parts', () => {
  const withParts = (key: string, bodyHash = 'b1') => ({
    kind: 'whole',
    payload: null,
    parts: [1, 2].map((n) => ({ kind: 'part', payload: n })),
    ...keyed(key, bodyHash),
  })

  test('they are submitted with their job', async (t) => {
    const { ledger, database } = await setupLedger(t)

    assert((await ledger.submit(withParts('k1'))).ok)

    const jobs = await database.query(`select kind, payload from jobs order by kind desc, payload::text`)
    assert.deepEqual(jobs, [
      { kind: 'whole', payload: null },
      { kind: 'part', payload: 1 },
      { kind: 'part', payload: 2 },
    ])
  })

  test('a key that named a job before submits no parts, nor does a refused one', async (t) => {
    const { ledger, database } = await setupLedger(t)

    const answers = await Promise.all([
      ledger.submit(withParts('k1')),
      ledger.submit(withParts('k1')),
      ledger.submit(withParts('k1', 'b2')),
    ])

    assert.equal(answers.filter((answer) => answer.ok && !answer.duplicate).length, 1)
    assert.deepEqual(await database.query(`select count(*)::integer as jobs from jobs`), [{ jobs: 3 }])
  })
})

describe('submit', () => {
  test('a submitted job is pending, with every option it was given', async (t) => {
    const { ledger, submit } = await setupLedger(t)

    const jobId = await submit({
      payload: { a: [1, null] },
      priority: 7,
      maxAttempts: 2,
      accountId: 9,
      trace: { traceId: 'tr' },
    })

    const job = await ledger.get(jobId)
    assert(job !== null)
    const { submittedAt, ...rest } = job
    assert(submittedAt instanceof Date)
    assert.deepEqual(rest, {
      jobId,
      kind: 'echo',
      state: 'pending',
      priority: 7,
      dueAt: null,
      payload: { a: [1, null] },
      result: null,
      reason: null,
      attemptId: 0,
      maxAttempts: 2,
      leaseOwner: null,
      lastOwner: null,
      leaseUntil: null,
      accountId: 9,
      traceId: 'tr',
      replayOf: null,
      startedAt: null,
      finishedAt: null,
    })
  })

  test('a submitted job without options has the default priority and the ledger’s max attempts', async (t) => {
    const { ledger, submit } = await setupLedger(t)

    const job = await ledger.get(await submit())

    assert.equal(job?.priority, 5)
    assert.equal(job?.maxAttempts, 5)
  })

  test('the id may be chosen by the caller, and the same id twice is an error of the second call alone', async (t) => {
    const { ledger } = await setupLedger(t)
    const jobId = '0190a000-0000-7000-8000-0000000000aa'

    const answers = await Promise.allSettled([
      ledger.submit({ kind: 'echo', payload: 1, jobId }),
      ledger.submit({ kind: 'echo', payload: 2, jobId }),
      ledger.submit({ kind: 'echo', payload: 3 }),
    ])

    assert.deepEqual(
      answers.map((answer) => answer.status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.equal((await ledger.get(jobId))?.payload, 1)
  })

  test('onReady gets the kinds that became ready, and nothing for a delayed job', async (t) => {
    const { submit, ready } = await setupLedger(t)

    await submit({ kind: 'now' })
    await submit({ kind: 'later', delayMs: 60_000 })

    assert.deepEqual(ready, ['now'])
  })

  test('more jobs than one statement holds are submitted in one transaction, in order', async (t) => {
    const { ledger, database } = await setupLedger(t)
    const jobs = Array.from({ length: 4100 }, (_, n) => ({ kind: 'echo', payload: n }))

    const answers = await ledger.submitMany(jobs)

    assert(answers.every((answer) => answer.ok && !answer.duplicate))
    const last = answers.at(-1)
    assert(last?.ok)
    assert.equal((await ledger.get(last.jobId))?.payload, 4099)
    const [row] = await database.query(
      'select count(*)::integer as n, count(distinct xmin::text)::integer as tx from jobs',
    )
    assert.deepEqual(row, { n: 4100, tx: 1 })
  })

  test('one bad job of many leaves none of them behind', async (t) => {
    const { ledger, database } = await setupLedger(t)

    await assert.rejects(
      ledger.submitMany([
        { kind: 'echo', payload: 1 },
        { kind: 'echo', payload: 2, maxAttempts: 0 },
      ]),
    )

    assert.deepEqual(await dump(database), { jobs: null, attempts: null, outbox: null, keys: null })
  })

  test('a submit inside a transaction that rolls back leaves nothing behind', async (t) => {
    const { ledger, database } = await setupLedger(t)

    await assert.rejects(
      database.transaction(async (tx) => {
        await ledger.submitIn(tx, [{ kind: 'echo', payload: 1, ...keyed('k') }])
        throw new Error('no')
      }),
    )

    assert.deepEqual(await dump(database), { jobs: null, attempts: null, outbox: null, keys: null })
  })

  test('effects happen with the job, and not for a duplicate', async (t) => {
    const { database, submit } = await setupLedger(t)
    const jobId = '0190a000-0000-7000-8000-0000000000aa'
    const other = '0190a000-0000-7000-8000-0000000000bb'

    await submit({ jobId, effects: [note(jobId)], ...keyed('k') })
    await submit({ jobId: other, effects: [note(other)], ...keyed('k') })

    assert.deepEqual(await notes(database), [jobId])
  })

  test('with the outbox as announcer, the announcement commits with the job and is due when the job is', async (t) => {
    const { database, bus } = await setupLedger(t)
    const ledger = openTestLedger({ database, bus, announceByOutbox: true })
    t.after(() => ledger.close())

    await ledger.submit({ kind: 'echo', payload: 1, priority: 3 })
    await ledger.submit({ kind: 'echo', payload: 1, delayMs: 60_000 })

    const rows = await database.query(
      `select o.topic, o.payload, j.due_at is null or j.due_at = o.next_attempt_at as together,
              o.next_attempt_at > clock_timestamp() as later
         from outbox_events o join jobs j using (job_id) order by o.outbox_id`,
    )
    assert.deepEqual(rows, [
      { topic: 'feed', payload: { kind: 'echo', priority: 3 }, together: true, later: false },
      { topic: 'feed', payload: { kind: 'echo', priority: 5 }, together: true, later: true },
    ])
  })

  test('jobs that are submitted together share one row of the outbox, unless one has a delay or a key', async (t) => {
    const { database, bus } = await setupLedger(t)
    const ledger = openTestLedger({ database, bus, announceByOutbox: true })
    t.after(() => ledger.close())
    const echo = { kind: 'echo', payload: 1 }

    const together = await ledger.submitMany([echo, echo, echo])
    const delayed = await ledger.submitMany([echo, { ...echo, delayMs: 60_000 }])
    const named = await ledger.submitMany([echo, { ...echo, ...keyed('k') }])

    const ids = (answers: typeof together) => answers.map((answer) => (answer.ok ? answer.jobId : ''))
    const rows = await database.query('select job_id, topic, payload from outbox_events order by outbox_id')
    const own = (jobId: string) => ({ job_id: jobId, topic: 'feed', payload: { kind: 'echo', priority: 5 } })
    assert.deepEqual(rows, [
      { job_id: ids(together)[0], topic: 'feed_batch', payload: ids(together) },
      ...[...ids(delayed), ...ids(named)].map(own),
    ])
  })

  test('the outbox holds a job back only if the submitter announces it itself', async (t) => {
    const { database, bus } = await setupLedger(t)
    const heard: (FreshJobs | undefined)[] = []
    let announces = true
    const ledger = openTestLedger({
      database,
      bus,
      announceByOutbox: true,
      announcesFresh: () => announces,
      onReady: (_, fresh) => heard.push(fresh),
    })
    t.after(() => ledger.close())
    const echo = { kind: 'echo', payload: 1 }

    await ledger.submitMany([echo, echo])
    await ledger.submit(echo)
    announces = false
    await ledger.submitMany([echo, echo])

    assert.deepEqual(
      heard.map((fresh) => fresh && [fresh.jobs.length, fresh.inOneOutboxRow]),
      [[2, true], [1, false], undefined],
    )
    const rows = await database.query(
      `select topic, next_attempt_at > created_at + interval '1 second' as later from outbox_events order by outbox_id`,
    )
    assert.deepEqual(rows, [
      { topic: 'feed_batch', later: true },
      { topic: 'feed', later: true },
      { topic: 'feed_batch', later: false },
    ])
  })
})

describe('an idempotent submit', () => {
  test('the same key and body name the first job, and nothing new becomes ready', async (t) => {
    const { ledger, submit, ready, database } = await setupLedger(t)
    const jobId = await submit(keyed('k'))
    const before = await dump(database)

    const answer = await ledger.submit({ kind: 'echo', payload: 2, ...keyed('k') })

    assert.deepEqual(answer, { ok: true, jobId, duplicate: true })
    assert.deepEqual(await dump(database), before)
    assert.deepEqual(ready, ['echo'])
  })

  test('the same key with another body is refused and changes nothing', async (t) => {
    const { ledger, submit, database } = await setupLedger(t)
    await submit(keyed('k'))
    const before = await dump(database)

    const answer = await ledger.submit({ kind: 'echo', payload: 2, ...keyed('k', 'b2') })

    assert.deepEqual(answer, { ok: false, code: 'idempotency_conflict' })
    assert.deepEqual(await dump(database), before)
  })

  test('the same key in another scope is another job', async (t) => {
    const { ledger, submit } = await setupLedger(t)
    const first = await submit(keyed('k'))

    const answer = await ledger.submit({
      kind: 'echo',
      payload: 1,
      idempotency: { scope: 'door:2', key: 'k', bodyHash: 'b1' },
    })

    assert(answer.ok)
    assert.equal(answer.duplicate, false)
    assert.notEqual(answer.jobId, first)
  })

  test('a finished job still answers for its key', async (t) => {
    const { ledger, submit, acquire } = await setupLedger(t)
    const jobId = await submit(keyed('k'))
    await ledger.finalize({ ...(await acquire(jobId)), result: 1 })

    const answer = await ledger.submit({ kind: 'echo', payload: 1, ...keyed('k') })

    assert.deepEqual(answer, { ok: true, jobId, duplicate: true })
  })

  test('one call with new, known and conflicting keys answers each of them', async (t) => {
    const { ledger, submit } = await setupLedger(t)
    const known = await submit(keyed('known'))

    const answers = await ledger.submitMany([
      { kind: 'echo', payload: 1, ...keyed('known', 'b2') },
      { kind: 'echo', payload: 2, ...keyed('new') },
      { kind: 'echo', payload: 3 },
      { kind: 'echo', payload: 4, ...keyed('known') },
    ])

    assert.deepEqual(
      answers.map((answer) => (answer.ok ? answer.duplicate : answer.code)),
      ['idempotency_conflict', false, false, true],
    )
    assert(answers[3]?.ok)
    assert.equal(answers[3].jobId, known)
  })

  test('the same key twice in one call is one job, and another body beside it is refused', async (t) => {
    const { ledger, database } = await setupLedger(t)

    const answers = await ledger.submitMany([
      { kind: 'echo', payload: 1, ...keyed('k') },
      { kind: 'echo', payload: 1, ...keyed('k') },
      { kind: 'echo', payload: 2, ...keyed('k', 'b2') },
    ])

    const [first] = answers
    assert(first?.ok)
    assert.deepEqual(answers, [
      { ok: true, jobId: first.jobId, duplicate: false },
      { ok: true, jobId: first.jobId, duplicate: true },
      { ok: false, code: 'idempotency_conflict' },
    ])
    const [count] = await database.query('select count(*)::integer as n from jobs')
    assert.deepEqual(count, { n: 1 })
  })

  test('a key can name a job that is there already; asked again it names the same one', async (t) => {
    const { ledger, database, submit } = await setupLedger(t)
    const [one, other] = [await submit(), await submit()]
    const name = (jobId: string, bodyHash: string) =>
      database.transaction((tx) => ledger.nameIn(tx, { scope: 'door:1', key: 'k', bodyHash }, jobId))

    const answers = [await name(one, 'b1'), await name(one, 'b1'), await name(other, 'b1'), await name(other, 'b2')]

    assert.deepEqual(answers, [
      { ok: true, jobId: one, duplicate: false },
      { ok: true, jobId: one, duplicate: true },
      { ok: true, jobId: one, duplicate: true },
      { ok: false, code: 'idempotency_conflict' },
    ])
  })
})

describe('a guarded submit', () => {
  const takeSeats = {
    columns: { seat: 'integer' },
    sql: ({ requests, createJobs }: GuardedParts) => `
    with asked as materialized (
      select * from ${requests}
    ), accepted as (
      insert into seats (seat, job_id) select seat, job_id from asked order by seat
          on conflict do nothing
      returning job_id
    ), ${createJobs}
    select seat, job_id in (select job_id from accepted) as taken from asked order by place`,
  }

  for (const announceByOutbox of [false, true]) {
    test(`makes the jobs that the door's own rows allow, and no others (${announceByOutbox ? 'Redis' : 'PostgreSQL'})`, async (t) => {
      const { database, bus } = await setupLedger(t)
      await database.query('create table if not exists seats (seat integer primary key, job_id uuid not null)')
      await database.query('insert into seats values (2, gen_random_uuid())')
      const ready: string[] = []
      const ledger = openTestLedger({ database, bus, announceByOutbox, onReady: (kinds) => ready.push(...kinds) })
      const seats = [1, 2, 3]
      const asked = seats.map((seat) => ({ kind: 'echo', payload: { seat } }))

      const answers = await ledger.openGuarded(takeSeats)({ jobs: asked, columns: { seat: numbersParam(seats) } })

      assert.deepEqual(answers, [
        { seat: 1, taken: true },
        { seat: 2, taken: false },
        { seat: 3, taken: true },
      ])
      const jobs = await database.query('select payload from jobs order by payload::text')
      assert.deepEqual(jobs, [{ payload: { seat: 1 } }, { payload: { seat: 3 } }])
      assert.deepEqual(ready, ['echo'])
      const [outbox] = await database.query('select count(*)::integer as count from outbox_events')
      assert.deepEqual(outbox, { count: announceByOutbox ? 2 : 0 })
      ledger.close()
    })
  }
})
