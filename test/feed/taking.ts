// Short words for taking from a feed. Whatever waits gives up in the end, so that a broken feed is a failed test and not a
// test that never ends.
import assert from 'node:assert/strict'
import type { Feed, TakenJob } from '../../src/core/feed/feed.ts'
import type { Ledger } from '../../src/core/ledger/ledger.ts'

/** Longer than any feed may take on the slowest machine: then nothing will come. */
const GIVE_UP_MS = 60_000

/** Takes again until something came. */
export async function takeSome(feed: Feed, kind: string, limit: number): Promise<TakenJob[]> {
  const signal = AbortSignal.timeout(GIVE_UP_MS)
  while (!signal.aborted) {
    const taken = await feed.take({ kind, limit, signal })
    if (taken.length > 0) return taken
  }
  return assert.fail('nothing was handed out')
}

/** Looks again until it holds: for what happens by itself, elsewhere. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  const started = performance.now()
  while (!(await condition())) {
    assert(performance.now() - started < GIVE_UP_MS, 'it did not happen')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

export async function takeOne(feed: Feed, kind: string): Promise<TakenJob> {
  const [one, ...more] = await takeSome(feed, kind, 1)
  assert(one !== undefined && more.length === 0)
  return one
}

const SOON_MS = 150

/** What can be had soon: a take that has nothing is told to stop waiting. */
export async function takeNow(feed: Feed, kind: string, limit = 10): Promise<TakenJob[]> {
  const stop = new AbortController()
  const taking = feed.take({ kind, limit, signal: stop.signal })
  setTimeout(() => stop.abort(), SOON_MS)
  return taking
}

/** Takes, and gets nothing, until `condition` holds: for what a take does beside handing out jobs. */
export async function takeNothingUntil(feed: Feed, kind: string, condition: () => Promise<boolean>): Promise<void> {
  const started = performance.now()
  do {
    assert.deepEqual(await takeNow(feed, kind), [])
    assert(performance.now() - started < GIVE_UP_MS, 'what a take should have done was not done')
  } while (!(await condition()))
}

export async function finish(ledger: Ledger, { job, acknowledge }: TakenJob): Promise<void> {
  const { jobId, attemptId, owner } = job
  assert.deepEqual(await ledger.finalize({ jobId, attemptId, owner, result: null }), { ok: true })
  await acknowledge?.()
}

export const jobIdsOf = (taken: readonly TakenJob[]): string[] => taken.map(({ job }) => job.jobId)
