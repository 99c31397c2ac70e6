// What the Redis feed owes to those who share the Redis with it, and to whoever reads its log.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { redisRig, shortId, type RedisRig } from './rig.ts'
import { finish, takeNothingUntil, takeOne, until } from './taking.ts'
import { startRedis } from '../support/servers.ts'
import { atEnd } from '../support/cleanup.ts'

const valueOf = async (
  counter: { get(): Promise<{ values: { labels: object; value: number }[] }> },
  labels: Readonly<Record<string, string>>,
) => {
  const { values } = await counter.get()
  return values
    .filter((value) => Object.entries(labels).every(([name, label]) => Reflect.get(value.labels, name) === label))
    .reduce((sum, { value }) => sum + value, 0)
}

const linesOf = ({ errors }: RedisRig) => errors.map((line): Record<string, unknown> => JSON.parse(line))

const addEntry = (rig: RedisRig, jobId: string, ref = `task:payload:${jobId}`) =>
  rig.redis.xadd(rig.keys[1], '*', 'job_id', jobId, 'enqueue_ts', '1', 'payload_ref', ref, 'priority', '5')

describe('an entry of a job that is running', () => {
  test('is acknowledged if the running attempt’s own entry is pending, which then stays', async (t) => {
    const rig = await redisRig(t)
    const jobId = await rig.submit()
    const taken = await takeOne(rig.feed, rig.kind)
    const own = await rig.pending()

    const duplicate = await addEntry(rig, jobId)
    await takeNothingUntil(rig.feed, rig.kind, async () => {
      const [group] = await groupsOf(rig)
      return group === duplicate // it has been read
    })

    await until(async () => JSON.stringify(await rig.pending()) === JSON.stringify(own))
    await finish(rig.ledger, taken)
    assert.deepEqual(await rig.pending(), [])
    assert.equal((await rig.ledger.get(jobId))?.state, 'done')
  })

  test('is acknowledged too when the feed itself announced it last', async (t) => {
    const rig = await redisRig(t)
    const jobId = await rig.submit()
    const taken = await takeOne(rig.feed, rig.kind)
    const own = await rig.pending()

    await rig.feed.announce([{ jobId, kind: rig.kind, priority: 5 }])
    await takeNothingUntil(rig.feed, rig.kind, async () => (await rig.redis.xlen(rig.keys[1])) === 2)

    await until(async () => JSON.stringify(await rig.pending()) === JSON.stringify(own))
    await finish(rig.ledger, taken)
    assert.deepEqual(await rig.pending(), [])
  })

  test('stays pending if it is the only one: it brings the job back when the holder dies', async (t) => {
    const rig = await redisRig(t)
    const jobId = await rig.submit()
    await takeOne(rig.feed, rig.kind)
    const [own] = await rig.pending()
    await rig.redis.xack(rig.keys[1], rig.group, own?.[0] ?? '')

    await addEntry(rig, jobId)
    await takeNothingUntil(rig.feed, rig.kind, async () => (await rig.pending()).length === 1)
    await rig.abandon(jobId)
    await rig.pass(rig.feed)

    const again = await takeOne(rig.feed, rig.kind)
    assert.deepEqual([again.job.jobId, again.job.attemptId], [jobId, 2])
  })
})

async function groupsOf(rig: RedisRig): Promise<string[]> {
  const groups: unknown = await rig.redis.xinfo('GROUPS', rig.keys[1])
  return Array.isArray(groups)
    ? groups.map((fields: unknown[]) => String(fields[fields.indexOf('last-delivered-id') + 1]))
    : []
}

describe('a payload in Redis', () => {
  for (const [what, damage] of [
    ['is missing', (rig: RedisRig, key: string) => rig.redis.del(key)],
    ['is not JSON', (rig: RedisRig, key: string) => rig.redis.set(key, 'broken')],
    ['lacks its task', (rig: RedisRig, key: string) => rig.redis.set(key, '{"schema_version":1}')],
    ['is of another type', (rig: RedisRig, key: string) => rig.redis.multi().del(key).lpush(key, 'x').exec()],
  ] as const) {
    test(`that ${what} is written again from the ledger, counted and logged with its reason`, async (t) => {
      const rig = await redisRig(t, { logLevel: 'warn' })
      const jobId = await rig.submit({ payload: { n: 7 }, trace: { traceId: 'trace-7' } })
      const key = `task:payload:${jobId}`
      await until(async () => (await rig.redis.exists(key)) === 1)
      const before = await rig.redis.get(key)
      await damage(rig, key)

      const taken = await takeOne(rig.feed, rig.kind)

      assert.deepEqual(taken.job.payload, { n: 7 })
      const reason = 'payload_missing_or_invalid'
      await until(async () => (await valueOf(rig.metrics.claims, { status: 'repaired', reason })) === 1)
      assert.equal(await rig.redis.get(key), before)
      const line = linesOf(rig).find((one) => one['reason'] === reason)
      assert.deepEqual([line?.['job_id'], line?.['attempt_id'], line?.['trace_id']], [jobId, 1, 'trace-7'])
    })
  }

  test('that another program wrote in its own format is left alone', async (t) => {
    const rig = await redisRig(t)
    const jobId = await rig.submit()
    const key = `task:payload:${jobId}`
    await until(async () => (await rig.redis.exists(key)) === 1)
    const foreign = '{ "encoding": "base64", "task_data_b64": "e30=", "schema_version": 1 }'
    await rig.redis.set(key, foreign)

    await finish(rig.ledger, await takeOne(rig.feed, rig.kind))

    assert.equal(await rig.redis.get(key), foreign)
  })
})

describe('a Redis that refuses', () => {
  async function fullRedis(t: TestContext) {
    const redis = await startRedis()
    atEnd(t, redis.stop)
    const rig = await redisRig(t, { url: redis.at })
    await rig.redis.config('SET', 'maxmemory', '1')
    return rig
  }

  test('is logged with job, trace and reason, in a limited number of lines, and fails the check', async (t) => {
    const rig = await fullRedis(t)
    const first = await rig.submit({ trace: { traceId: 'trace-1' } })

    await until(async () => linesOf(rig).some((line) => line['job_id'] === first))
    await Promise.all(Array.from({ length: 200 }, () => rig.submit()))
    await until(async () => linesOf(rig).length >= 20)

    const line = linesOf(rig).find((one) => one['job_id'] === first)
    assert.equal(line?.['trace_id'], 'trace-1')
    assert.match(String(line?.['reason']), /OOM/)
    assert.equal(linesOf(rig).filter((one) => one['msg'] === 'the feed refused a job').length, 20)
    await assert.rejects(rig.feed.check(), /Redis cannot be used: .*OOM/)
  })
})

describe('settings of the streams', () => {
  test('key, group, consumer and length are as configured', async (t) => {
    const key = `mine:${shortId()}`
    const streams = { keys: { judge: key }, group: `hands:${shortId()}`, consumer: 'me', maxLength: 1000 }
    const rig = await redisRig(t, { kind: 'judge', feed: { streams } })
    await rig.submit()

    await takeOne(rig.feed, 'judge')

    const pending: unknown = await rig.redis.call('XPENDING', key, streams.group, '-', '+', 10)
    assert(Array.isArray(pending))
    assert.deepEqual(
      pending.map(([, consumer]) => consumer),
      ['me'],
    )
    const filler = Array.from({ length: 3000 }, (_, n) => ['xadd', key, '*', 'n', String(n)])
    await rig.redis.pipeline(filler).exec()
    await rig.feed.announce([{ jobId: await rig.submit(), kind: 'judge', priority: 5 }])
    await until(async () => (await rig.redis.xlen(key)) < 1200) // trimmed to about the length, in whole nodes
  })
})

describe('an acknowledgement that Redis refuses', () => {
  test('is tried twice, counted and logged as xack_error, and repeated later', async (t) => {
    const rig = await redisRig(t)
    await rig.submit()
    const taken = await takeOne(rig.feed, rig.kind)
    const [high, normal] = rig.keys
    await rig.redis.rename(normal, `${high}:hidden`)
    await rig.redis.set(normal, 'not a stream')

    await finish(rig.ledger, taken)

    assert.equal(await valueOf(rig.metrics.claims, { status: 'error', reason: 'xack_error' }), 1)
    assert.equal(linesOf(rig).filter((line) => line['reason'] === 'xack_error').length, 1)
    await rig.redis.rename(`${high}:hidden`, normal)
    await rig.letLie()
    await rig.pass(rig.feed)
    await takeNothingUntil(rig.feed, rig.kind, async () => (await rig.pending()).length === 0)
  })
})
