// What Redis loses, and what its consumers leave lying.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { v7 } from 'uuid'
import { atEnd } from '../support/cleanup.ts'
import { freePort, startRedis } from '../support/servers.ts'
import { redisRig, type RedisRig, type RedisRigOptions } from './rig.ts'
import { finish, jobIdsOf, takeNothingUntil, takeNow, takeOne, takeSome, until } from './taking.ts'

const judgeRig = (t: TestContext, options: RedisRigOptions = {}) => redisRig(t, { kind: 'judge', ...options })

async function submitAndAnnounce({ submit, redis, keys }: RedisRig, count: number): Promise<string[]> {
  const jobIds = await Promise.all(Array.from({ length: count }, () => submit()))
  await until(async () => (await redis.xlen(keys[1])) >= count)
  return jobIds
}

async function takeAll(rig: RedisRig, count: number): Promise<string[]> {
  const taken: string[] = []
  while (taken.length < count) taken.push(...jobIdsOf(await takeSome(rig.feed, 'judge', 100)))
  return taken.toSorted()
}

describe('judge C4: taking over', () => {
  test('judge C4: an entry whose job has a live lease is left in the pending list', async (t) => {
    const rig = await judgeRig(t)
    await submitAndAnnounce(rig, 1)
    await takeOne(rig.feed, 'judge')
    await rig.letLie()
    const other = await rig.another('w2')

    await takeNothingUntil(other, 'judge', async () => {
      await rig.pass(other)
      return (await rig.metrics.reclaims.get()).values.length > 0
    })

    assert.equal((await rig.pending()).length, 1)
    const { values } = await rig.metrics.reclaims.get()
    assert.deepEqual(
      values.map(({ labels, value }) => [labels.reason, value]),
      [['lease_still_valid', 1]],
    )
  })

  test('judge C4: an entry whose job is done is acknowledged', async (t) => {
    const rig = await judgeRig(t)
    await submitAndAnnounce(rig, 1)
    const { job } = await takeOne(rig.feed, 'judge')
    await rig.ledger.finalize({ jobId: job.jobId, attemptId: job.attemptId, owner: job.owner, result: null })
    await rig.letLie()

    await takeNothingUntil(rig.feed, 'judge', async () => {
      await rig.pass(rig.feed)
      return (await rig.pending()).length === 0
    })

    assert.equal((await rig.ledger.get(job.jobId))?.attemptId, 1)
  })

  test('judge C4: a job that was read and never acquired is not lost', async (t) => {
    const rig = await judgeRig(t)
    const [jobId] = await submitAndAnnounce(rig, 1)
    for (const key of rig.keys) await rig.redis.xgroup('CREATE', key, rig.group, '0', 'MKSTREAM')
    await rig.redis.xreadgroup('GROUP', rig.group, 'dead', 'COUNT', 1, 'STREAMS', rig.keys[1], '>')
    await rig.letLie()

    await rig.pass(rig.feed)
    const { job } = await takeOne(rig.feed, 'judge')

    assert.deepEqual([job.jobId, job.attemptId], [jobId, 1])
  })

  test('judge C4: no more is claimed than there are free slots', async (t) => {
    const rig = await judgeRig(t)
    const jobIds = await submitAndAnnounce(rig, 5)
    await takeAll(rig, 5)
    for (const jobId of jobIds) await rig.expireLease(jobId)
    await rig.letLie()
    const other = await rig.another('w2')

    await rig.pass(other)
    const taken = await takeSome(other, 'judge', 2)

    assert.equal(taken.length, 2)
    const owners = (await rig.pending()).map(([, consumer]) => consumer)
    assert.deepEqual(owners.toSorted(), ['w1', 'w1', 'w1', 'w2', 'w2'])
  })

  test('judge C4: a pass goes on where the last one stopped', async (t) => {
    const rig = await judgeRig(t, { feed: { reclaim: { everyMs: 5000, count: 2, graceMs: 15_000 } } })
    await submitAndAnnounce(rig, 6)
    await takeAll(rig, 6)
    const other = await rig.another('w2')
    const mine = async () => (await rig.pending()).flatMap(([, consumer], index) => (consumer === 'w2' ? [index] : []))
    const claimed: number[][] = []

    for (const count of [2, 4, 6]) {
      await takeNothingUntil(other, 'judge', async () => {
        if ((await mine()).length === count) return true
        await rig.letLie()
        await rig.pass(other)
        return false
      })
      claimed.push(await mine())
    }

    assert.deepEqual(claimed, [
      [0, 1],
      [0, 1, 2, 3],
      [0, 1, 2, 3, 4, 5],
    ])
  })
})

describe('repair', () => {
  test('a job whose entry was trimmed away is announced again', async (t) => {
    const rig = await judgeRig(t)
    const jobIds = await submitAndAnnounce(rig, 3)
    await rig.redis.xtrim(rig.keys[1], 'MAXLEN', 0)

    await rig.pass(rig.feed)

    assert.deepEqual(await takeAll(rig, 3), jobIds.toSorted())
  })

  test('an abandoned job whose entry is gone is announced again', async (t) => {
    const rig = await judgeRig(t)
    const [jobId = ''] = await submitAndAnnounce(rig, 1)
    await takeOne(rig.feed, 'judge')
    await rig.redis.xtrim(rig.keys[1], 'MAXLEN', 0)
    await rig.expireLease(jobId)

    await rig.pass(rig.feed)
    const { job } = await takeOne(rig.feed, 'judge')

    assert.deepEqual([job.jobId, job.attemptId], [jobId, 2])
  })

  test('what still waits in the stream, or is pending, is not announced again', async (t) => {
    const rig = await judgeRig(t)
    const [first = ''] = await submitAndAnnounce(rig, 3)
    await takeOne(rig.feed, 'judge')
    await rig.expireLease(first)

    await rig.pass(rig.feed)
    await rig.pass(rig.feed)

    assert.equal(await rig.redis.xlen(rig.keys[1]), 3)
  })

  test('a destroyed group is made again at 0, and nothing is lost or done twice', async (t) => {
    const rig = await judgeRig(t)
    const jobIds = await submitAndAnnounce(rig, 4)
    const first = await takeOne(rig.feed, 'judge')
    await finish(rig.ledger, first)
    const held = await takeOne(rig.feed, 'judge')
    await rig.redis.xgroup('DESTROY', rig.keys[1], rig.group)

    const rest = await takeAll(rig, 2)
    await finish(rig.ledger, held)

    const taken = [first.job.jobId, held.job.jobId]
    assert.deepEqual(rest, jobIds.filter((jobId) => !taken.includes(jobId)).toSorted())
    assert.equal((await rig.pending()).length, 2)
  })

  test('a job that has waited long enough moves up a level', async (t) => {
    const rig = await judgeRig(t)
    const [, normal, low] = rig.keys
    const jobId = v7({ msecs: Date.now() - 3 * 60_000 })
    await rig.submit({ jobId, priority: 1 })
    await until(async () => (await rig.redis.xlen(low)) === 1)

    await rig.pass(rig.feed)

    assert.deepEqual([await rig.redis.xlen(normal), await rig.redis.xlen(low)], [1, 0])
    assert.equal((await takeOne(rig.feed, 'judge')).job.jobId, jobId)
  })

  test('the places of entries that no longer exist are forgotten', async (t) => {
    const rig = await judgeRig(t)
    const [jobId = ''] = await submitAndAnnounce(rig, 1)
    await rig.ledger.cancel({ jobId, reason: 'not wanted' })
    await rig.redis.xtrim(rig.keys[1], 'MAXLEN', 0)

    await rig.pass(rig.feed)

    assert.deepEqual(await rig.redis.hkeys(`${rig.keys[1]}:places`), ['about'])
  })

  test('a consumer that is silent is forgotten only when nothing is pending for it', async (t) => {
    const rig = await judgeRig(t, { feed: { repair: { everyMs: 5000, olderThanMs: 0, forgetConsumersMs: 0 } } })
    await submitAndAnnounce(rig, 2)
    await takeOne(rig.feed, 'judge')
    const other = await rig.another('w2')
    await finish(rig.ledger, await takeOne(other, 'judge'))

    await rig.pass(rig.feed)

    const consumers: unknown = await rig.redis.call('XINFO', 'CONSUMERS', rig.keys[1], rig.group)
    assert(Array.isArray(consumers))
    assert.deepEqual(
      consumers.map((facts) => String(facts[1])),
      ['w1'],
    )
  })

  test('after a flush of Redis all unfinished jobs are announced again, and held jobs stay held', async (t) => {
    const server = await startRedis()
    atEnd(t, server.stop)
    const rig = await judgeRig(t, { url: server.at })
    const jobIds = await submitAndAnnounce(rig, 20)
    const held = await takeOne(rig.feed, 'judge')

    await rig.redis.flushall()
    await takeNow(rig.feed, 'judge') // meets the loss
    await takeNow(rig.feed, 'judge') // makes the groups
    await rig.pass(rig.feed)
    const rest = await takeAll(rig, 19)
    await finish(rig.ledger, held)

    assert.deepEqual([held.job.jobId, ...rest].toSorted(), jobIds.toSorted())
  })

  test('a Redis that dies and comes back empty loses nothing, and is logged once', async (t) => {
    const port = await freePort()
    const first = await startRedis({ port })
    atEnd(t, first.stop)
    const rig = await judgeRig(t, { url: first.at })
    const before = await submitAndAnnounce(rig, 5)
    const held = await takeOne(rig.feed, 'judge')
    const others = await takeSome(rig.feed, 'judge', 2)

    await first.stop()
    const meanwhile = await Promise.all(Array.from({ length: 5 }, () => rig.submit()))
    const away = await takeNow(rig.feed, 'judge')
    await held.acknowledge?.()
    const second = await startRedis({ port })
    atEnd(t, second.stop)
    const taken = [held, ...others, ...away]
    await until(async () => {
      taken.push(...(await takeNow(rig.feed, 'judge', 100)))
      await rig.pass(rig.feed)
      return taken.length === 10
    })

    assert.deepEqual(jobIdsOf(taken).toSorted(), [...before, ...meanwhile].toSorted())
    const outages = rig.errors.filter((line) => line.includes('Redis cannot be used'))
    assert.equal(outages.length, 1)
  })
})
