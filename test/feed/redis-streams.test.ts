// The judge contract's streams, clause by clause, as another program that shares the Redis would see them.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { v7 } from 'uuid'
import { redisRig, type RedisRig, type RedisRigOptions } from './rig.ts'
import { finish, jobIdsOf, takeNothingUntil, takeOne, takeSome, until } from './taking.ts'

const judgeRig = (t: TestContext, options: RedisRigOptions = {}) => redisRig(t, { kind: 'judge', ...options })

/** The outbox's dispatcher works by itself: waits until it has put this many entries into a stream. */
async function entriesIn({ redis }: RedisRig, key: string, count: number): Promise<[id: string, fields: string[]][]> {
  await until(async () => (await redis.xlen(key)) >= count)
  return redis.xrange(key, '-', '+')
}

const valueOf = async (
  counter: { get(): Promise<{ values: { labels: object; value: number }[] }> },
  labels: object,
) => {
  const { values } = await counter.get()
  const wanted = JSON.stringify(labels)
  return values.find((value) => JSON.stringify(value.labels) === wanted)?.value ?? 0
}

describe('judge C1: announcing', () => {
  test('judge C1: the entry has exactly the fields job_id, enqueue_ts, payload_ref and priority', async (t) => {
    const rig = await judgeRig(t)
    const before = Date.now()
    const jobId = await rig.submit({ priority: 6 })

    const [[, fields] = ['', []]] = await entriesIn(rig, rig.keys[1], 1)

    const enqueuedAt = fields[3]
    const expected = { job_id: jobId, enqueue_ts: enqueuedAt, payload_ref: `task:payload:${jobId}`, priority: '6' }
    assert.deepEqual(fields, Object.entries(expected).flat())
    assert.match(String(enqueuedAt), /^\d+$/)
    assert(Number(enqueuedAt) >= before && Number(enqueuedAt) <= Date.now())
  })

  test('judge C1: the payload is an envelope of version 1 and lives for JOB_PAYLOAD_TTL_SEC', async (t) => {
    const rig = await judgeRig(t)
    const jobId = await rig.submit({ payload: { code: 'print("é")' }, trace: { traceId: 'trace-1' } })
    await entriesIn(rig, rig.keys[1], 1)

    const envelope = JSON.parse((await rig.redis.get(`task:payload:${jobId}`)) ?? '')
    const ttl = await rig.redis.ttl(`task:payload:${jobId}`)

    const { task_data_b64: data, ...rest } = envelope
    assert.deepEqual(rest, { schema_version: 1, encoding: 'base64', content_type: 'application/json' })
    const task = JSON.parse(Buffer.from(data, 'base64').toString())
    assert.deepEqual([task.job_id, task.kind, task.trace_id], [jobId, 'judge', 'trace-1'])
    assert.deepEqual(task.payload, { code: 'print("é")' })
    assert(ttl > 86_000 && ttl <= 86_400)
  })

  test('judge C1: each level of priority has its stream', async (t) => {
    const rig = await judgeRig(t)
    const submitted = await Promise.all([9, 8, 7, 5, 3, 2, 0].map((priority) => rig.submit({ priority })))
    const [high, normal, low] = rig.keys

    const found = [await entriesIn(rig, high, 2), await entriesIn(rig, normal, 3), await entriesIn(rig, low, 2)].map(
      (entries) => entries.map(([, fields]) => String(fields[1])).toSorted(),
    )

    const expected = [submitted.slice(0, 2), submitted.slice(2, 5), submitted.slice(5)]
    assert.deepEqual(
      found,
      expected.map((jobIds) => jobIds.toSorted()),
    )
  })

  test('judge C1: an entry that Redis refuses leaves no payload behind', async (t) => {
    const rig = await judgeRig(t)
    await rig.redis.set(rig.keys[1], 'not a stream')
    const jobId = await rig.submit()

    await assert.rejects(rig.feed.announce([{ jobId, kind: 'judge', priority: 5 }]), /WRONGTYPE/)

    assert.equal(await rig.redis.exists(`task:payload:${jobId}`), 0)
  })

  test('judge D1: a row that is delivered again makes no second entry while the first waits', async (t) => {
    const rig = await judgeRig(t)
    const jobId = await rig.submit()
    const [first] = await entriesIn(rig, rig.keys[1], 1)
    const row = { outboxId: 1, jobId, topic: 'feed', payload: { kind: 'judge', priority: 5 }, attempts: 2 }

    const answers = await rig.feed.deliveries[0]?.deliver([row], AbortSignal.timeout(60_000))

    assert.deepEqual(answers, [{ ok: true, entryId: first?.[0] }])
    assert.equal(await rig.redis.xlen(rig.keys[1]), 1)
  })

  test('judge D1: a row whose job has ended is delivered without a new entry', async (t) => {
    const rig = await judgeRig(t)
    const jobId = await rig.submit()
    await entriesIn(rig, rig.keys[1], 1)
    await rig.ledger.cancel({ jobId, reason: 'not wanted' })
    const row = { outboxId: 1, jobId, topic: 'feed', payload: { kind: 'judge', priority: 5 }, attempts: 1 }

    const answers = await rig.feed.deliveries[0]?.deliver([row], AbortSignal.timeout(60_000))

    assert.deepEqual(answers, [{ ok: true }])
    assert.equal(await rig.redis.xlen(rig.keys[1]), 1)
  })

  test('judge C6: rows wait in the outbox rather than have Redis trim what nobody has read', async (t) => {
    const key = `test:${v7()}`
    const streams = { keys: { judge: key }, group: 'workers', consumer: 'w1', maxLength: 10 }
    const rig = await judgeRig(t, { feed: { streams } })
    const submitted = await Promise.all(Array.from({ length: 12 }, () => rig.submit()))
    await until(async () => {
      await rig.pass(rig.feed)
      return (await rig.redis.xlen(key)) === submitted.length
    })
    const rows = submitted
      .slice(0, 1)
      .map((jobId) => ({ outboxId: 1, jobId, topic: 'feed', payload: null, attempts: 1 }))

    const answers = await rig.feed.deliveries[0]?.deliver(rows, AbortSignal.timeout(60_000))

    assert.deepEqual(answers, [{ ok: false, error: 'stream_full', retryMs: 1000 }])
  })
})

describe('judge C2: reading', () => {
  test('judge C2: what was announced before the first worker came is read: the group begins at 0', async (t) => {
    const rig = await judgeRig(t)
    const jobId = await rig.submit()
    await entriesIn(rig, rig.keys[1], 1)
    assert.deepEqual(await rig.redis.call('XINFO', 'GROUPS', rig.keys[1]), [])

    const { job } = await takeOne(rig.feed, 'judge')

    assert.equal(job.jobId, jobId)
  })

  test('judge C2: the consumer has the name that it was given', async (t) => {
    const rig = await judgeRig(t)
    await rig.submit()

    await takeOne(rig.feed, 'judge')

    assert.deepEqual(
      (await rig.pending()).map(([, consumer]) => consumer),
      ['w1'],
    )
  })

  test('judge INV-2: an entry is acknowledged when its executor says so, and not before', async (t) => {
    const rig = await judgeRig(t)
    await rig.submit()
    const taken = await takeOne(rig.feed, 'judge')
    const { jobId, attemptId, owner } = taken.job

    await rig.ledger.finalize({ jobId, attemptId, owner, result: null })
    assert.equal((await rig.pending()).length, 1)
    await taken.acknowledge?.()

    assert.deepEqual(await rig.pending(), [])
  })

  test('judge C2: acknowledgements that are sent together reach all their streams', async (t) => {
    const rig = await judgeRig(t)
    await Promise.all([9, 5, 1, 9, 5, 1].map((priority) => rig.submit({ priority })))
    const taken = []
    while (taken.length < 6) taken.push(...(await takeSome(rig.feed, 'judge', 10)))

    await Promise.all(taken.map((one) => finish(rig.ledger, one)))

    for (const key of rig.keys) assert.deepEqual(await rig.pending(key), [])
    assert.deepEqual(await rig.redis.hkeys(`${rig.keys[1]}:places`), ['about'])
  })

  test('judge C2: a payload that has expired or cannot be read is rebuilt from the database', async (t) => {
    const rig = await judgeRig(t)
    const expired = await rig.submit({ payload: { n: 1 } })
    const garbled = await rig.submit({ payload: { n: 2 } })
    await entriesIn(rig, rig.keys[1], 2)
    await rig.redis.del(`task:payload:${expired}`)
    await rig.redis.set(`task:payload:${garbled}`, '{"schema_version":')

    const taken = await takeSome(rig.feed, 'judge', 10)

    assert.deepEqual(
      taken.map(({ job }) => [job.jobId, job.payload]),
      [
        [expired, { n: 1 }],
        [garbled, { n: 2 }],
      ],
    )
  })

  test('judge C2: an entry that names no job is acknowledged and counted', async (t) => {
    const rig = await judgeRig(t)
    await rig.redis.xadd(rig.keys[1], '*', 'hello', 'world')
    await rig.redis.xadd(rig.keys[1], '*', 'job_id', 'no-uuid', 'enqueue_ts', 1, 'payload_ref', 'x', 'priority', 5)

    const counted = () => valueOf(rig.metrics.claims, { status: 'rejected', reason: 'missing_field' })
    await takeNothingUntil(rig.feed, 'judge', async () => (await counted()) === 2)

    assert.deepEqual(await rig.pending(), [])
  })

  test('judge C3: an entry with a missing field ends its job while nobody works on it', async (t) => {
    const rig = await judgeRig(t)
    const jobId = await rig.submit({ delayMs: 3_600_000 })
    await rig.redis.xadd(rig.keys[1], '*', 'job_id', jobId, 'enqueue_ts', 1, 'priority', 5)

    await takeNothingUntil(rig.feed, 'judge', async () => (await rig.ledger.get(jobId))?.state === 'dead')

    assert.equal((await rig.ledger.get(jobId))?.reason, 'missing_field')
    assert.deepEqual(await rig.pending(), [])
  })

  test('judge C3: an entry with a missing field does nothing to a job that somebody works on, and is kept', async (t) => {
    const rig = await judgeRig(t)
    const jobId = await rig.submit()
    const held = await takeOne(rig.feed, 'judge')
    await rig.redis.xadd(rig.keys[1], '*', 'job_id', jobId, 'enqueue_ts', 1, 'priority', 5)

    const counted = () => valueOf(rig.metrics.claims, { status: 'rejected', reason: 'lease_still_valid' })
    await takeNothingUntil(rig.feed, 'judge', async () => (await counted()) === 1)

    assert.equal((await rig.ledger.get(jobId))?.state, 'processing')
    assert.equal((await rig.pending()).length, 2)
    await finish(rig.ledger, held)
  })

  test('judge C2: an entry for a job of another kind is sent to that kind’s own queue', async (t) => {
    const rig = await judgeRig(t)
    const kind = `other-${v7()}`
    const jobId = await rig.submit({ kind })
    await until(async () => (await rig.redis.zcard(`reeve:ready:${kind}`)) === 1)
    await rig.redis.xadd(rig.keys[1], '*', 'job_id', jobId, 'enqueue_ts', 1, 'payload_ref', 'x', 'priority', 5)

    const attempts = async () => (await rig.ledger.get(jobId))?.attemptId
    await takeNothingUntil(rig.feed, 'judge', async () => (await attempts()) === 1)
    const { job } = await takeOne(rig.feed, kind)

    assert.equal(job.jobId, jobId)
    assert.deepEqual(await rig.pending(), [])
  })

  test('judge C2: when the database fails nothing is acknowledged, and the same entries are asked for again', async (t) => {
    let fails = 1
    const rig = await judgeRig(t, {
      wrapLedger: (ledger) => ({
        ...ledger,
        acquireMany: async (requests) => {
          if (fails-- > 0) throw new Error('connection lost')
          return ledger.acquireMany(requests)
        },
      }),
    })
    const submitted = [await rig.submit(), await rig.submit()]
    await entriesIn(rig, rig.keys[1], 2)

    await assert.rejects(takeSome(rig.feed, 'judge', 2), /connection lost/)
    assert.equal((await rig.pending()).length, 2)
    const taken = await takeSome(rig.feed, 'judge', 2)

    assert.deepEqual(jobIdsOf(taken).toSorted(), submitted.toSorted())
    assert.equal(await valueOf(rig.metrics.claims, { status: 'error', reason: 'db_error' }), 2)
  })

  test('judge C2: a low level is read although higher ones never run dry', async (t) => {
    const rig = await judgeRig(t)
    const low = await rig.submit({ priority: 0 })
    await Promise.all(Array.from({ length: 20 }, (_, n) => rig.submit({ priority: n % 2 === 0 ? 9 : 5 })))
    await Promise.all(rig.keys.map((key, level) => entriesIn(rig, key, level === 2 ? 1 : 10)))

    const taken: string[] = []
    for (let turn = 0; turn < 10; turn += 1) taken.push(...jobIdsOf(await takeSome(rig.feed, 'judge', 1)))

    assert(taken.includes(low))
  })
})
