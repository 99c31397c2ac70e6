// What every feed must do, whatever carries it.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Rig } from './rig.ts'
import { finish, jobIdsOf, takeNow, takeOne, takeSome } from './taking.ts'

const JOBS = 50

interface FeedOptions {
  /** Far above what a hint takes, and below every interval at which the feed would look by itself. */
  atOnceMs: number
}

export function feedConformance(
  name: string,
  setup: (t: TestContext) => Promise<Rig>,
  { atOnceMs }: FeedOptions,
): void {
  describe(`feed by ${name}`, () => {
    test('a submitted job reaches an executor, with its payload and its first attempt', async (t) => {
      const { feed, kind, submit } = await setup(t)
      const jobId = await submit({ payload: { text: 'héllo', n: [1, null] } })

      const { job } = await takeOne(feed, kind)

      assert.equal(job.jobId, jobId)
      assert.equal(job.attemptId, 1)
      assert.deepEqual(job.payload, { text: 'héllo', n: [1, null] })
    })

    test('a take gives no more jobs than there are free slots', async (t) => {
      const { feed, kind, submit } = await setup(t)
      const submitted = await Promise.all(Array.from({ length: JOBS }, (_, n) => submit({ priority: n % 11 })))

      const taken: string[] = []
      for (let limit = 1; taken.length < JOBS; limit = (limit % 7) + 1) {
        const some = await takeSome(feed, kind, limit)
        assert(some.length <= limit, `${some.length} jobs for ${limit} slots`)
        taken.push(...jobIdsOf(some))
      }

      assert.deepEqual(taken.toSorted(), submitted.toSorted())
    })

    test('two takers never get the same attempt of a job', async (t) => {
      const { feed, another, kind, submit } = await setup(t)
      const feeds = [feed, await another('w2')]
      const submitted = await Promise.all(Array.from({ length: JOBS }, () => submit()))

      const taken: string[] = []
      while (taken.length < JOBS) {
        const both = await Promise.all(feeds.map((one) => takeNow(one, kind, 5)))
        taken.push(...both.flatMap(jobIdsOf))
      }

      assert.deepEqual(taken.toSorted(), submitted.toSorted())
    })

    test('an abandoned job is taken over by another executor, as its next attempt', async (t) => {
      const { feed, another, kind, submit, abandon, pass } = await setup(t)
      const jobId = await submit()
      await takeOne(feed, kind)
      await abandon(jobId)
      const other = await another('w2')

      await pass(other)
      const { job } = await takeOne(other, kind)

      assert.deepEqual([job.jobId, job.attemptId, job.owner], [jobId, 2, 'w2'])
    })

    test('a job with a live lease is not taken over', async (t) => {
      const { feed, another, kind, submit, pass } = await setup(t)
      await submit()
      await takeOne(feed, kind)
      const other = await another('w2')

      await pass(other)

      assert.deepEqual(await takeNow(other, kind), [])
    })

    test('a job that has ended is not handed out', async (t) => {
      const { feed, ledger, kind, submit } = await setup(t)
      const cancelled = await submit()
      await ledger.cancel({ jobId: cancelled, reason: 'not wanted' })
      const wanted = await submit()

      const { job } = await takeOne(feed, kind)

      assert.equal(job.jobId, wanted)
      assert.deepEqual(await takeNow(feed, kind), [])
    })

    test('a job that was done and acknowledged never comes again', async (t) => {
      const { feed, ledger, kind, submit, abandon, pass } = await setup(t)
      const jobId = await submit()
      await finish(ledger, await takeOne(feed, kind))
      await abandon('00000000-0000-0000-0000-000000000000')

      await pass(feed)

      assert.deepEqual(await takeNow(feed, kind), [])
      assert.equal((await ledger.get(jobId))?.attemptId, 1)
    })

    test('a job that is given back is taken by somebody else', async (t) => {
      const { feed, ledger, another, kind, submit } = await setup(t)
      const jobId = await submit()
      const { job, acknowledge } = await takeOne(feed, kind)
      await ledger.release({ jobId, attemptId: job.attemptId, owner: job.owner })

      await feed.announce([job])
      await acknowledge?.()
      const again = await takeOne(await another('w2'), kind)

      assert.deepEqual([again.job.jobId, again.job.attemptId], [jobId, 2])
    })

    test('a delayed job is not handed out before it is due', async (t) => {
      const { feed, kind, submit } = await setup(t)
      await submit({ delayMs: 3_600_000 })

      assert.deepEqual(await takeNow(feed, kind), [])
    })

    test('an urgent job is taken before those that wait', async (t) => {
      const { feed, kind, submit, pass } = await setup(t)
      for (const priority of [5, 5, 1, 5]) await submit({ priority })
      const urgent = await submit({ priority: 9 })
      await pass(feed) // whatever is still on its way is announced by now

      const { job } = await takeOne(feed, kind)

      assert.equal(job.jobId, urgent)
    })

    test('an idle take wakes when a job is submitted', async (t) => {
      const { feed, kind, submit, ledger } = await setup(t)
      await submit()
      await finish(ledger, await takeOne(feed, kind))
      const waiting = takeSome(feed, kind, 10)
      assert.equal(await Promise.race([waiting, takesTime()]), 'nothing yet')

      const started = performance.now()
      const jobId = await submit()
      const [taken] = await waiting

      assert.equal(taken?.job.jobId, jobId)
      assert(performance.now() - started < atOnceMs, 'found by looking again, not by being told')
    })

    test('a waiting take ends when it is told to', async (t) => {
      const { feed, kind } = await setup(t)
      const stop = new AbortController()
      const takeUntilTold = async () => {
        while (!stop.signal.aborted) await feed.take({ kind, limit: 1, signal: stop.signal }) // it may wake for nothing
      }
      const waiting = takeUntilTold()
      assert.equal(await Promise.race([waiting, takesTime()]), 'nothing yet')

      const started = performance.now()
      stop.abort()
      await waiting
      await feed.close()

      assert(performance.now() - started < atOnceMs)
    })
  })
}

/** Long enough for a take to have asked and to be waiting. */
const takesTime = () => new Promise<string>((resolve) => setTimeout(resolve, 100, 'nothing yet'))
