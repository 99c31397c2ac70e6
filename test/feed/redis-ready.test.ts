// A sorted set in Redis as the queue of a kind: its order, what a process takes away with it when it dies, and what Redis loses.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Redis } from 'ioredis'
import { v7 } from 'uuid'
import { atEnd } from '../support/cleanup.ts'
import { startRedis } from '../support/servers.ts'
import { redisRig, type RedisRig, type RedisRigOptions } from './rig.ts'
import { finish, jobIdsOf, takeNow, takeOne, takeSome, until } from './taking.ts'

const MINUTE_MS = 60_000
const GROUP = 'test:earlier'

async function setup(t: TestContext, options: RedisRigOptions = {}) {
  const rig = await redisRig(t, { form: 'ready', ...options })
  const key = `reeve:ready:${rig.kind}`
  const waiting = () => rig.redis.zrange(key, '0', '-1')
  const submitAndAnnounce = async (count: number) => {
    const jobIds = await Promise.all(Array.from({ length: count }, () => rig.submit()))
    await until(async () => (await waiting()).length === count)
    return jobIds
  }
  return { ...rig, key, waiting, submitAndAnnounce }
}

async function takeAll({ feed, kind }: RedisRig, count: number): Promise<string[]> {
  const taken: string[] = []
  while (taken.length < count) taken.push(...jobIdsOf(await takeSome(feed, kind, 100)))
  return taken.toSorted()
}

describe('a sorted set of ready jobs', () => {
  test('has a job once, however often it is announced, and no payload', async (t) => {
    const { feed, kind, redis, waiting, submitAndAnnounce } = await setup(t)
    const [jobId = ''] = await submitAndAnnounce(1)

    await feed.announce([{ jobId, kind, priority: 5 }])

    assert.deepEqual(await waiting(), [jobId])
    assert.equal(await redis.exists(`task:payload:${jobId}`), 0)
  })

  test('is in the order of priority and age: a level is worth a minute', async (t) => {
    const { feed, kind, submit, waiting } = await setup(t)
    const at = (minutesAgo: number) => v7({ msecs: Date.now() - minutesAgo * MINUTE_MS })
    const jobs = [
      { jobId: at(0), priority: 5 },
      { jobId: at(3), priority: 1 },
      { jobId: at(9), priority: 1 },
      { jobId: at(0), priority: 9 },
    ]
    for (const job of jobs) await submit(job)
    await until(async () => (await waiting()).length === jobs.length)

    const order: number[] = []
    for (const _ of jobs) {
      const { job } = await takeOne(feed, kind)
      order.push(jobs.findIndex(({ jobId }) => jobId === job.jobId))
    }

    assert.deepEqual(order, [2, 3, 0, 1])
  })

  test('tells the age of the oldest job that waits', async (t) => {
    const { feed, kind, submit, waiting } = await setup(t)
    await submit({ jobId: v7({ msecs: Date.now() - MINUTE_MS }) })
    await until(async () => (await waiting()).length === 1)

    const lagSec = (await feed.lagSec?.(kind)) ?? 0

    assert(lagSec >= 60 && lagSec < 120, String(lagSec))
  })

  test('takes no more than it has room for; the rest waits in the outbox', async (t) => {
    const streams = { keys: {}, group: GROUP, consumer: 'w1', maxLength: 10 }
    const { feed, kind, submit, ...rig } = await setup(t, { feed: { streams } })
    const submitted = await Promise.all(Array.from({ length: 30 }, () => submit()))
    await until(async () => (await rig.waiting()).length >= 9)

    const taken = await takeAll({ ...rig, feed, kind, submit }, submitted.length)

    assert.deepEqual(taken, submitted.toSorted())
  })

  test('loses nothing when the database fails: the same jobs are asked for again', async (t) => {
    let isDown = false
    const { feed, kind, submitAndAnnounce } = await setup(t, {
      wrapLedger: (ledger) => ({
        ...ledger,
        acquireMany: (requests) => (isDown ? Promise.reject(new Error('down')) : ledger.acquireMany(requests)),
      }),
    })
    const jobIds = await submitAndAnnounce(3)

    isDown = true
    await assert.rejects(takeSome(feed, kind, 10), /down/)
    isDown = false

    assert.deepEqual(jobIdsOf(await takeSome(feed, kind, 10)).toSorted(), jobIds.toSorted())
  })
})

/** Resolves once so many connections block. */
const blocked = (redis: Redis, count: number) =>
  until(async () => (await redis.info('clients')).includes(`blocked_clients:${count}\r`))

describe('processes that wait', () => {
  test('one of them gets the jobs that come together, and the others are not woken', async (t) => {
    const server = await startRedis()
    atEnd(t, server.stop)
    const { feed, another, kind, redis, ledger } = await setup(t, { url: server.at })
    const first = takeSome(feed, kind, 10)
    await blocked(redis, 1)
    const second = takeSome(await another('w2'), kind, 10)
    await blocked(redis, 2)

    await ledger.submitMany([
      { kind, payload: 1 },
      { kind, payload: 2 },
      { kind, payload: 3 },
    ])
    const together = await first
    await blocked(redis, 1)
    await ledger.submitMany([{ kind, payload: 4 }])

    assert.deepEqual([together.length, (await second).length], [3, 1])
  })

  for (const refusal of ['does not know', 'does not allow'] as const) {
    test(`get jobs that come one by one or together from a Redis that ${refusal} BZMPOP`, async (t) => {
      const server = await startRedis(refusal === 'does not know' ? { without: 'BZMPOP' } : {})
      atEnd(t, server.stop)
      const { feed, kind, redis, ledger, errors } = await setup(t, { url: server.at, logLevel: 'warn' })
      if (refusal === 'does not allow') await redis.call('ACL', 'SETUSER', 'default', '-bzmpop')

      for (const payloads of [[1], [2, 3, 4]]) {
        const taking = takeSome(feed, kind, 10)
        await blocked(redis, 1)
        await ledger.submitMany(payloads.map((payload) => ({ kind, payload })))

        const taken = await taking
        assert.deepEqual(taken.map(({ job }) => job.payload).toSorted(), payloads)
      }

      assert.deepEqual(errors, [])
    })
  }
})

describe('a process that dies', () => {
  test('with jobs that it has read and not acquired: repair announces them, and nothing that still waits', async (t) => {
    const rig = await setup(t)
    const jobIds = await rig.submitAndAnnounce(5)
    const read = await rig.redis.zpopmin(rig.key, 2)
    assert.equal(read.length, 4)

    await rig.pass(rig.feed)

    assert.deepEqual((await rig.waiting()).toSorted(), jobIds.toSorted())
    assert.deepEqual(await takeAll(rig, 5), jobIds.toSorted())
  })

  test('with jobs in progress: each is done once, by its next attempt', async (t) => {
    const { feed, another, kind, ledger, submitAndAnnounce, expireLease, pass } = await setup(t)
    const jobIds = await submitAndAnnounce(4)
    const [done, ...abandoned] = await takeSome(feed, kind, 4)
    assert(done !== undefined)
    await finish(ledger, done)
    for (const { job } of abandoned) await expireLease(job.jobId)
    const other = await another('w2')

    await pass(other)
    const again = await takeSome(other, kind, 10)
    for (const one of again) await finish(ledger, one)

    assert.deepEqual([done.job.jobId, ...jobIdsOf(again)].toSorted(), jobIds.toSorted())
    assert(again.every(({ job }) => job.attemptId === 2 && job.wasAbandoned))
    await pass(other)
    assert.deepEqual(await takeNow(other, kind), [])
  })

  test('is made up for although the set is full', async (t) => {
    const streams = { keys: {}, group: GROUP, consumer: 'w1', maxLength: 1 }
    const { feed, kind, submit, expireLease, pass, waiting, redis, key } = await setup(t, { feed: { streams } })
    const jobId = await submit()
    await takeOne(feed, kind)
    await redis.zadd(key, '9e15', v7())
    await expireLease(jobId)

    await pass(feed)

    assert((await waiting()).includes(jobId))
  })
})

describe('a Redis that has lost its data', () => {
  test('is noticed by the next take, and every job that waits is announced again, however young', async (t) => {
    const server = await startRedis()
    atEnd(t, server.stop)
    const repair = { everyMs: 5000, olderThanMs: MINUTE_MS, forgetConsumersMs: MINUTE_MS }
    const rig = await setup(t, { url: server.at, feed: { repair } })
    const jobIds = await rig.submitAndAnnounce(20)
    const held = await takeOne(rig.feed, rig.kind)

    await rig.redis.flushall()
    await takeNow(rig.feed, rig.kind) // meets the loss
    await takeNow(rig.feed, rig.kind) // sets the mark
    await rig.pass(rig.feed)
    const rest = await takeAll(rig, 19)
    await finish(rig.ledger, held)

    assert.deepEqual([held.job.jobId, ...rest].toSorted(), jobIds.toSorted())
  })
})

describe('streams of an earlier version', () => {
  const announceEarlier = ({ redis, keys }: RedisRig, jobId: string) =>
    redis.xadd(
      keys[1],
      '*',
      'job_id',
      jobId,
      'enqueue_ts',
      '1',
      'payload_ref',
      `task:payload:${jobId}`,
      'priority',
      '5',
    )

  test('are emptied into the set: their jobs need not wait until repair misses them', async (t) => {
    const repair = { everyMs: 5000, olderThanMs: MINUTE_MS, forgetConsumersMs: MINUTE_MS }
    const rig = await setup(t, { feed: { repair } })
    const [jobId = ''] = await rig.submitAndAnnounce(1)
    await rig.redis.del(rig.key)
    await announceEarlier(rig, jobId)

    await rig.pass(rig.feed)

    assert.deepEqual(await rig.waiting(), [jobId])
    assert.equal((await takeOne(rig.feed, rig.kind)).job.jobId, jobId)
    assert.deepEqual(await rig.pending(), [])
  })

  test('are deleted an hour after their last entry, and not before', async (t) => {
    const rig = await setup(t)
    const [, young, old] = rig.keys
    await announceEarlier(rig, v7())
    await rig.redis.xadd(old, `${Date.now() - 61 * MINUTE_MS}-0`, 'job_id', v7(), 'priority', '1')

    await rig.pass(rig.feed)

    assert.deepEqual([await rig.redis.exists(young), await rig.redis.exists(old)], [1, 0])
  })
})
