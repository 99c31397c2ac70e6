import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Gathering } from '../../src/core/feed/gathering.ts'

const LONG_MS = 60_000
const SHORT_MS = 30

/** Whether the next round may begin in this turn of the event loop. */
async function isReady(gathering: Gathering): Promise<boolean> {
  const stop = new AbortController()
  const waiting = gathering.wait(stop.signal).then(() => true)
  const ready = await Promise.race([waiting, new Promise((resolve) => setImmediate(resolve, false))])
  stop.abort()
  await waiting
  return ready === true
}

describe('gathering', () => {
  test('a round of several jobs is followed by a wait, and one of few or of all that it may have is not', async () => {
    for (const [jobs, limit, expected] of [
      [0, 100, true],
      [3, 100, true],
      [4, 100, false],
      [99, 100, false],
      [100, 100, true],
      [2, 2, true],
    ] as const) {
      const gathering = new Gathering(LONG_MS)

      gathering.note(jobs, limit)

      assert.equal(await isReady(gathering), expected, `${jobs} of ${limit}`)
    }
  })

  test('the wait begins with the end of the round and is over after its time', async () => {
    const gathering = new Gathering(SHORT_MS)
    const before = performance.now()
    gathering.note(10, 100)

    await gathering.wait()

    assert(performance.now() - before > SHORT_MS - 2) // a timer may fire a fraction of a millisecond early
  })
})
