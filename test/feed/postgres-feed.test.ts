import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { feedConformance } from './conformance.ts'
import { postgresRig, type Rig } from './rig.ts'
import { takeNow, takeOne, until } from './taking.ts'

// A take that nobody wakes lasts 15 s.
feedConformance('PostgreSQL', postgresRig, { atOnceMs: 10_000 })

const LONG_ENOUGH_MS = 60_000

/** Takes one by one while there is always a new job behind the last, until it is this one's turn. */
async function takeUntil(rig: Rig, jobId: string): Promise<void> {
  const started = performance.now()
  while ((await takeOne(rig.feed, rig.kind)).job.jobId !== jobId) {
    assert(performance.now() - started < LONG_ENOUGH_MS, 'hands that are never idle passed it over')
    await rig.submit()
  }
}

describe('an executor that is never idle', () => {
  test('takes a job that is more urgent than those it has', async (t) => {
    const rig = await postgresRig(t)
    for (let n = 0; n < 3; n += 1) await rig.submit()
    await takeOne(rig.feed, rig.kind)

    await takeUntil(rig, await rig.submit({ priority: 9 }))
  })

  test('takes a job that was abandoned', async (t) => {
    const rig = await postgresRig(t)
    const abandoned = await rig.submit()
    await rig.submit()
    const other = await rig.another('w2')
    assert.equal((await takeOne(other, rig.kind)).job.jobId, abandoned)
    await takeOne(rig.feed, rig.kind)
    await rig.submit()

    await rig.abandon(abandoned)

    await takeUntil(rig, abandoned)
  })

  test('takes nothing when there is nothing', async (t) => {
    const rig = await postgresRig(t)
    await rig.submit()
    await takeOne(rig.feed, rig.kind)

    assert.deepEqual(await takeNow(rig.feed, rig.kind), [])
  })
})

describe('an executor that finds nothing', () => {
  test('takes a job that is more urgent than those it had', async (t) => {
    const rig = await postgresRig(t)
    await rig.submit()
    await takeOne(rig.feed, rig.kind)
    assert.deepEqual(await takeNow(rig.feed, rig.kind), [])

    const urgent = await rig.submit({ priority: 9 })

    assert.equal((await takeOne(rig.feed, rig.kind)).job.jobId, urgent)
  })
})

describe('while searches from the start take long', () => {
  /** Such a search takes a while, and is counted. */
  const slowRig = async (t: TestContext) => {
    const searches = { fromStart: 0, after: 0 }
    const rig = await postgresRig(t, {
      wrapLedger: (ledger) => ({
        ...ledger,
        async acquireNextFrom(rank, request) {
          if (rank === null) searches.fromStart += 1
          else searches.after += 1
          if (rank === null) await new Promise((resolve) => setTimeout(resolve, SLOW_MS))
          return ledger.acquireNextFrom(rank, request)
        },
      }),
    })
    return { rig, searches }
  }
  const SLOW_MS = 50

  test('a hint for jobs that others have taken is followed by none of them', async (t) => {
    const { rig, searches } = await slowRig(t)
    await rig.submit()
    await takeOne(rig.feed, rig.kind)
    const stop = new AbortController()
    const { fromStart, after } = searches

    const taking = rig.feed.take({ kind: rig.kind, limit: 10, signal: stop.signal })
    await until(async () => searches.after > after)
    stop.abort()

    assert.deepEqual(await taking, [])
    assert.equal(searches.fromStart, fromStart)
  })

  test('an urgent job is taken without another hint, once they may go on', async (t) => {
    const { rig, searches } = await slowRig(t)
    await rig.submit()
    await takeOne(rig.feed, rig.kind)
    const { fromStart } = searches

    const urgent = await rig.submit({ priority: 9 })

    assert.equal((await takeOne(rig.feed, rig.kind)).job.jobId, urgent)
    assert(searches.fromStart > fromStart)
  })
})

test('a process listens for ready jobs, and for what others take, from its first take on', async (t) => {
  const channels: string[] = []
  const rig = await postgresRig(t, {
    wrapBus: (bus) => ({
      ...bus,
      subscribe(channel, ...subscription) {
        channels.push(channel)
        return bus.subscribe(channel, ...subscription)
      },
    }),
  })
  await rig.submit()
  assert.deepEqual(channels, [])

  await takeOne(rig.feed, rig.kind)

  assert.deepEqual(channels, ['reeve:ready', 'reeve:taken'])
})
