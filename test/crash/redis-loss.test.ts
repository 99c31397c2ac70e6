// Redis loses everything, or a part, while jobs are under way. The ledger knows them all, and they end once.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { atEnd } from '../support/cleanup.ts'
import { startRedis } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { setup, TIMEOUT, type FeedForm, type Rig } from './rig.ts'
import type { Streams } from './streams.ts'

const JOBS = 300
const WORK_MS = 200
const SLOTS = 10
const DONE_BEFORE = 30
const REDIS = 'PostgreSQL + Redis'
const STREAMS = 'PostgreSQL + Redis streams'

interface Loss {
  name: string
  feed: FeedForm
  lose(streams: Streams, rig: Rig): Promise<unknown>
}

const LOSSES: readonly Loss[] = [
  { name: 'a flushed Redis', feed: STREAMS, lose: ({ redis }) => redis.flushall() },
  { name: 'a flushed Redis without streams', feed: REDIS, lose: ({ redis }) => redis.flushall() },
  {
    name: 'a deleted set of ready jobs',
    feed: REDIS,
    async lose({ redis, key }, rig) {
      await redis.del(key)
      await growOld(rig)
    },
  },
  { name: 'a destroyed group', feed: STREAMS, lose: ({ redis, key, group }) => redis.xgroup('DESTROY', key, group) },
  {
    name: 'a stream that was trimmed to nothing',
    feed: STREAMS,
    async lose({ redis, key }, rig) {
      await redis.xtrim(key, 'MAXLEN', '=', 0)
      await growOld(rig)
    },
  },
]

describe('a loss in Redis', () => {
  for (const { name, feed, lose } of LOSSES) {
    test(`${name} costs no job`, TIMEOUT, async (t) => {
      const rig = await setup(t, feed)
      const { jobIds, workers, streams } = await midRun(rig)

      await lose(streams, rig)
      const more = await rig.submit(JOBS)
      await rig.assertEndedOnce([...jobIds, ...more])

      for (const worker of workers) await worker.stop()
    })
  }

  test('a Redis that is killed and comes back empty costs no job', TIMEOUT, async (t) => {
    const server = await startRedis()
    atEnd(t, server.stop)
    const rig = await setup(t, 'PostgreSQL + Redis', { redisUrl: server.at })
    const { jobIds, workers } = await midRun(rig)

    await server.stop() // with SIGKILL; its port is free after that
    const more = await rig.submit(JOBS)
    const again = await startRedis({ port: Number(new URL(server.at).port) })
    atEnd(t, again.stop)
    await rig.assertEndedOnce([...jobIds, ...more])

    for (const worker of workers) await worker.stop()
  })

  test('jobs whose entries were flushed before any worker came are announced again', TIMEOUT, async (t) => {
    const rig = await setup(t, 'PostgreSQL + Redis')
    const { streams } = rig
    assert(streams !== null)
    const jobIds = await rig.submit(3)
    const server = rig.worker({ role: 'serve' })
    await until('all are announced', async () => (await streams.jobs()).length === jobIds.length)
    await server.stop()

    await streams.redis.flushall()
    const worker = rig.worker()
    await rig.assertEndedOnce(jobIds)

    await worker.stop()
  })
})

/** Two workers at work: some jobs are done, some are running, and most still wait in the stream. */
async function midRun(rig: Rig) {
  const { streams } = rig
  assert(streams !== null)
  const workers = [rig.worker({ slots: SLOTS }), rig.worker({ slots: SLOTS })]
  // A process cannot start while Redis is away; nor may the first be done before the second has started.
  await Promise.all(workers.map((worker) => worker.heard('ready')))
  const jobIds = await rig.submit(JOBS, () => WORK_MS)
  await until('work is under way', async () => (await rig.countDone()) >= DONE_BEFORE)
  assert((await rig.countDone()) < JOBS / 2, 'it was over before it could be disturbed')
  return { jobIds, workers, streams }
}

/** Repair leaves young jobs alone: their entries may just be on the way. */
const growOld = (rig: Rig) => rig.database.query(`update jobs set submitted_at = submitted_at - interval '1 hour'`)
