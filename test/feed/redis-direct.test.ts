// Whoever submits announces by itself, and takes the rows of the outbox away that have served.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { FreshJobs } from '../../src/core/ledger/ledger.ts'
import { prepare } from '../../src/core/ledger/submit/submit.ts'
import type { DeliveredRow } from '../../src/core/outbox/delivery.ts'
import { redisRig } from './rig.ts'
import { jobIdsOf, takeSome, until } from './taking.ts'

const PRIORITY_HIGH = 9

async function setup(t: TestContext) {
  const served: DeliveredRow[] = []
  const rig = await redisRig(t, { feed: { onAnnounced: async (rows) => void served.push(...rows) } })
  const fresh = (inOneOutboxRow: boolean, priorities: readonly number[]): FreshJobs => ({
    inOneOutboxRow,
    jobs: priorities.map((priority) => prepare({ kind: rig.kind, payload: 1, priority }, 5)),
  })
  const idsOf = ({ jobs }: FreshJobs) => jobs.map(({ jobId }) => jobId)
  /** Redis refuses every entry of this level from now on. That there is room was asked before, and is not asked again. */
  const breakHigh = async () => {
    rig.feed.hint([rig.kind], fresh(false, [5]))
    await until(async () => served.length === 1)
    served.pop()
    await rig.redis.del(rig.keys[1])
    await rig.redis.set(rig.keys[0], 'not a stream')
  }
  return { rig, served, fresh, idsOf, breakHigh }
}

test('a row of several jobs is delivered when all of them are in a stream, under the id of the first', async (t) => {
  const { rig, served, fresh, idsOf } = await setup(t)
  const three = fresh(true, [5, PRIORITY_HIGH, 1])
  const alone = fresh(false, [5])

  rig.feed.hint([rig.kind], three)
  rig.feed.hint([rig.kind], alone)
  await until(async () => served.length === 2)

  assert.deepEqual(
    served.map(({ topic, jobId }) => ({ topic, jobId })),
    [
      { topic: 'feed_batch', jobId: idsOf(three)[0] },
      { topic: 'feed', jobId: idsOf(alone)[0] },
    ],
  )
  const idsIn = (entryId: string | null) => entryId?.split(',') ?? []
  assert.deepEqual(
    served.map(({ entryId }) => idsIn(entryId).every((id) => /^\d+-\d+$/.test(id)) && idsIn(entryId).length),
    [3, 1],
  )
  assert.equal(await rig.redis.xlen(rig.keys[1]), 2)
})

test('a row of several jobs stays while one of them is in no stream; rows of single jobs are independent', async (t) => {
  const { rig, served, fresh, idsOf, breakHigh } = await setup(t)
  await breakHigh()
  const apart = fresh(false, [5, PRIORITY_HIGH])

  rig.feed.hint([rig.kind], fresh(true, [5, PRIORITY_HIGH]))
  rig.feed.hint([rig.kind], apart)
  await until(async () => served.length > 0)
  await rig.feed.close()

  assert.deepEqual(
    served.map(({ topic, jobId }) => ({ topic, jobId })),
    [{ topic: 'feed', jobId: idsOf(apart)[0] }],
  )
})

test('the outbox delivers a row of several jobs: all of them, and none twice', async (t) => {
  const { rig, breakHigh } = await setup(t)
  await breakHigh()
  const asked = [5, PRIORITY_HIGH, 1].map((priority) => ({ kind: rig.kind, payload: 1, priority }))
  const jobIds = (await rig.ledger.submitMany(asked)).flatMap((answer) => (answer.ok ? [answer.jobId] : []))
  const rows = () => rig.database.query<{ last_error: string | null }>('select last_error from outbox_events')
  await until(async () => /WRONGTYPE/.test((await rows())[0]?.last_error ?? ''))

  await rig.redis.del(rig.keys[0])
  await until(async () => (await rows()).length === 0)

  const taken = await takeSome(rig.feed, rig.kind, 10)
  while (taken.length < jobIds.length) taken.push(...(await takeSome(rig.feed, rig.kind, 10)))
  assert.deepEqual(jobIdsOf(taken).toSorted(), jobIds.toSorted())
  assert.equal(await rig.redis.xlen(rig.keys[1]), 1)
})

test('with twenty thousand jobs waiting for Redis, what comes next is left to the outbox', async (t) => {
  const { rig, fresh } = await setup(t)
  assert(rig.feed.announcesFresh())

  for (const count of [1, 1, 20_000])
    // the first two are on their way at once
    rig.feed.hint(
      [rig.kind],
      fresh(
        false,
        Array.from({ length: count }, () => 5),
      ),
    )

  assert.equal(rig.feed.announcesFresh(), false)
  await until(async () => rig.feed.announcesFresh())
})
