import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OutboxRow } from '../../src/core/outbox/delivery.ts'
import { Waiter } from '../../src/core/concurrency/waiter.ts'
import { openDispatcher } from '../../src/core/outbox/dispatcher.ts'
import { runLoop } from '../../src/core/loop.ts'
import { atEnd } from '../support/cleanup.ts'
import { until } from '../support/until.ts'
import { allOk, deliveryOf, setupOutbox } from './setup.ts'

const FOR_EVER_MS = 1_000_000

test('a wake is for the topics that it names', async (t) => {
  const { database, metrics, write } = await setupOutbox(t)
  const delivered: string[] = []
  const deliver = (batch: readonly OutboxRow[]) => {
    delivered.push(...batch.map(({ topic }) => topic))
    return allOk(batch)
  }
  const topics = ['test', 'other'].map((topic) => deliveryOf(deliver, { topic }))
  const { wake, loops } = openDispatcher(database, topics, metrics)
  const passes = new Map(loops.map(({ name }) => [name, 0]))
  let ended = 0
  const stopping = new AbortController()
  const running = loops.map((loop) => {
    const runOnce = async (signal: AbortSignal) => {
      passes.set(loop.name, (passes.get(loop.name) ?? 0) + 1)
      return loop.runOnce(signal).finally(() => (ended += 1))
    }
    return runLoop({ ...loop, everyMs: FOR_EVER_MS, runOnce }, stopping.signal, assert.ifError)
  })
  atEnd(t, async () => {
    stopping.abort()
    await Promise.all(running)
  })
  await until('both have looked', () => ended === loops.length)

  await write(1, 'other')
  wake(['other', 'unknown'])
  await until('it is delivered', () => delivered.length === 1)

  assert.deepEqual(
    passes,
    new Map([
      ['deliver test', 1],
      ['deliver other', 2],
    ]),
  )
})

test('of several dispatchers of a topic a wake starts one, and a full batch starts the next', async (t) => {
  const { database, metrics, write } = await setupOutbox(t)
  const held = new Waiter<void>({ timeoutMs: Infinity, onTimeout: () => {} })
  const batches: number[] = []
  const delivery = deliveryOf(
    async (batch) => {
      batches.push(batch.length)
      await held.answer
      return allOk(batch)
    },
    { rowsMax: 2 },
  )
  const { wake, loops } = openDispatcher(database, [delivery, delivery, delivery], metrics)
  const begun = loops.map(() => 0)
  let ended = 0
  const stopping = new AbortController()
  const running = loops.map((loop, index) => {
    const runOnce = async (signal: AbortSignal) => {
      begun[index] = (begun[index] ?? 0) + 1
      return loop.runOnce(signal).finally(() => (ended += 1))
    }
    return runLoop({ ...loop, everyMs: FOR_EVER_MS, runOnce }, stopping.signal, assert.ifError)
  })
  atEnd(t, async () => {
    held.resolve()
    stopping.abort()
    await Promise.all(running)
  })
  await until('all have looked', () => ended === loops.length)

  await write(3)
  wake(['test'])
  await until('two batches are under way', () => batches.length === 2)

  assert.deepEqual(batches, [2, 1])
  assert.deepEqual(begun, [2, 2, 1])
})
