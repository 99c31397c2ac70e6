import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SearchTurn } from '../../src/core/feed/search-turn.ts'

const BUSY_MS = 500
const WAIT_MS_MAX = 1000
const STEP_MS = 100

/** A turn by a clock that the test moves, in which others are always busy. */
function amongBusy() {
  const clock = { ms: 0 }
  const turn = new SearchTurn(() => clock.ms)
  const isAwaited = () => {
    turn.othersTook()
    return turn.isAwaited
  }
  /** As a process does that never finds it free. */
  const waitInVain = async () => {
    const startedAt = clock.ms
    while (isAwaited()) {
      await turn.pause(AbortSignal.abort())
      clock.ms += STEP_MS
    }
    return clock.ms - startedAt
  }
  return { clock, turn, isAwaited, waitInVain }
}

describe('the turn to search', () => {
  test('is waited for a second at most', async () => {
    const { waitInVain } = amongBusy()

    assert.equal(await waitInVain(), WAIT_MS_MAX)
  })

  test('is not waited for by one that has waited in vain, for a while', async () => {
    const { clock, turn, isAwaited, waitInVain } = amongBusy()
    await waitInVain()

    turn.searched()

    assert.equal(isAwaited(), false)
    clock.ms += BUSY_MS
    assert.equal(isAwaited(), true)
  })

  test('is waited for a second again by one that has had it', async () => {
    const { clock, turn, waitInVain } = amongBusy()
    await turn.pause(AbortSignal.abort())
    clock.ms += WAIT_MS_MAX - STEP_MS
    turn.searched()

    assert.equal(await waitInVain(), WAIT_MS_MAX)
  })
})
