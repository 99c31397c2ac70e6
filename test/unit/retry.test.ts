import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryWaitMs } from '../../src/core/concurrency/retry.ts'

test('the wait doubles with each attempt, spread by 15 %, and never exceeds its limit', () => {
  const policy = { baseMs: 1000, maxMs: 300_000 }

  for (const [attempt, ms] of [1000, 2000, 4000, 8000].entries()) {
    for (let n = 0; n < 100; n += 1) {
      const wait = retryWaitMs(attempt + 1, policy)
      assert(wait >= ms * 0.85 && wait <= ms * 1.15)
    }
  }
  for (const attempt of [12, 100, 100_000]) assert.equal(retryWaitMs(attempt, policy), 300_000)
})
