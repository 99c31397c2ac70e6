import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LocalSubscriptions, type Bus } from '../../src/core/events/bus.ts'
import { openHintedWaits } from '../../src/core/events/hinted-waits.ts'
import { countTurns } from '../support/turns.ts'

function newWaits() {
  const local = new LocalSubscriptions()
  // As the buses do: messages from before the server listened are a gap.
  const bus: Pick<Bus, 'subscribe'> = {
    subscribe(channel, listener, onGap = () => {}) {
      const subscription = { listener, onGap }
      local.add(channel, subscription)
      queueMicrotask(() => local.gap([channel]))
      return () => void local.remove(channel, subscription)
    },
  }
  const reads: string[] = []
  const ended = new Set<string>()
  const waits = openHintedWaits({
    bus,
    channel: 'ends',
    namesIn: (message) => message.split(','),
    nameOf: (name: string) => name,
    read: async (name: string) => {
      reads.push(name)
      return ended.has(name)
    },
    isFinal: (hasEnded) => hasEnded,
  })
  const end = (name: string) => {
    ended.add(name)
    local.deliver('ends', name)
  }
  return { waits, reads, end, channels: () => local.channels() }
}

/** Somebody has waited before, so that hints are heard. */
async function setup() {
  const { waits, reads, end } = newWaits()
  end('the first')
  assert.equal(await waits.wait('the first', { timeoutMs: 60_000 }), true)
  reads.length = 0
  return { waits, reads, end }
}

test('nobody listens until somebody waits', async () => {
  const { waits, end, channels } = newWaits()
  assert.deepEqual(channels(), [])

  const waiting = waits.wait('a', { timeoutMs: 60_000 })
  assert.deepEqual(channels(), ['ends'])

  end('a')
  assert.equal(await waiting, true)
})

test('a fresh subject that ended before the first wait is found', async () => {
  const { waits, end } = newWaits()
  end('a')

  assert.equal(await waits.wait('a', { timeoutMs: 60_000, isFresh: true }), true)
})

test('a fresh subject is read when a hint names it, and not before', async () => {
  const { waits, reads, end } = await setup()

  const waiting = waits.wait('a', { timeoutMs: 60_000, isFresh: true })
  assert.deepEqual(reads, [])
  end('a')

  assert.equal(await waiting, true)
  assert.deepEqual(reads, ['a'])
})

test('a fresh subject that a hint named before anybody waited is read at once', async () => {
  const { waits, end } = await setup()
  end('a')

  assert.equal(await waits.wait('a', { timeoutMs: 60_000, isFresh: true }), true)
})

test('a subject that is not fresh is read at once', async () => {
  const { waits, reads, end } = await setup()

  const waiting = waits.wait('a', { timeoutMs: 60_000 })
  assert.deepEqual(reads, ['a'])
  end('a')

  assert.equal(await waiting, true)
})

test('thousands who wait for one subject are told in several turns of the event loop, after one read', async () => {
  const { waits, reads, end } = await setup()
  const toldIn = new Map<number, number>()
  const turns = countTurns()
  const all = Promise.all(
    Array.from({ length: 2000 }, async () => {
      assert.equal(await waits.wait('a', { timeoutMs: 60_000, isFresh: true }), true)
      toldIn.set(turns.count(), (toldIn.get(turns.count()) ?? 0) + 1)
    }),
  )

  end('a')
  await all
  turns.stop()

  assert.deepEqual(reads, ['a'])
  assert(Math.max(...toldIn.values()) <= 100, JSON.stringify([...toldIn]))
})
