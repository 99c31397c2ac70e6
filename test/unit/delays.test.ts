import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { shortestDelay } from '../../src/core/ledger/delays.ts'

describe('the shortest delay', () => {
  test('is null when no job is delayed', () => {
    assert.equal(shortestDelay([]), null)
    assert.equal(shortestDelay([0, 0]), null)
  })

  test('ignores jobs that are ready, and is found among half a million', () => {
    const delays = Array.from({ length: 500_000 }, (_, at) => (at % 2 === 0 ? 0 : at + 1000))

    assert.equal(shortestDelay(delays), 1001)
  })
})
