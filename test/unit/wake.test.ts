import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { describe, test } from 'node:test'
import { Wake } from '../../src/core/loop.ts'

const LONG_MS = 600_000

describe('a bell', () => {
  test('that was rung ends the next wait, and only that one', async () => {
    const wake = new Wake()
    wake.ring()
    await wake.wait(LONG_MS)
    const order: string[] = []

    const waiting = wake.wait(LONG_MS).then(() => order.push('waited'))
    order.push('rung')
    wake.ring()
    await waiting

    assert.deepEqual(order, ['rung', 'waited'])
  })

  test('ends a wait when its signal aborts, and does not begin one that has', async () => {
    const wake = new Wake()
    const stopping = new AbortController()

    const waiting = wake.wait(LONG_MS, stopping.signal)
    stopping.abort()

    await waiting
    await wake.wait(LONG_MS, stopping.signal)
  })

  test('listens once to a signal, however often it is waited for', async () => {
    const wake = new Wake()
    const { signal } = new AbortController()

    for (const _round of [1, 2, 3]) {
      wake.ring()
      await wake.wait(LONG_MS, signal)
      const waiting = wake.wait(LONG_MS, signal)
      wake.ring()
      await waiting
    }

    assert.equal(getEventListeners(signal, 'abort').length, 1)
  })

  test('does not end a wait when the signal of an earlier one aborts', async () => {
    const wake = new Wake()
    const [earlier, later] = [new AbortController(), new AbortController()]
    const first = wake.wait(LONG_MS, earlier.signal)
    wake.ring()
    await first
    const order: string[] = []

    const second = wake.wait(LONG_MS, later.signal).then(() => order.push('waited'))
    earlier.abort()
    await new Promise(setImmediate)
    order.push('aborted')
    later.abort()
    await second

    assert.deepEqual(order, ['aborted', 'waited'])
  })
})
