import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Waiter } from '../../src/core/concurrency/waiter.ts'
import { openDueCheck } from '../../src/core/due-check.ts'
import { onGrid, runLoop, type Loop } from '../../src/core/loop.ts'
import { atEnd } from '../support/cleanup.ts'
import { testDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const FOR_EVER_MS = 1_000_000

test('one statement asks for all loops, and wakes those that have something to do', async (t) => {
  const { database } = await testDatabase(t)
  await database.query('create table chores (name text not null)')
  let statements = 0
  const check = openDueCheck({
    query(sql, params) {
      statements += 1
      return database.query(sql, params)
    },
  })
  const passes = { dishes: 0, floor: 0 }
  const loopOf = (name: keyof typeof passes): Loop => ({
    name,
    everyMs: 1,
    isDue: `exists (select from chores where name = '${name}')`,
    async runOnce() {
      passes[name] += 1
      return false
    },
  })
  const stopping = new AbortController()
  const running = check
    .over([loopOf('dishes'), loopOf('floor')])
    .map((loop) => runLoop(loop, stopping.signal, assert.ifError))
  atEnd(t, async () => {
    stopping.abort()
    await Promise.all(running)
  })
  await until('both have passed once', () => passes.dishes === 1 && passes.floor === 1)

  await check.loop.runOnce(stopping.signal)
  await database.query(`insert into chores values ('floor')`)
  await check.loop.runOnce(stopping.signal)
  await until('the floor has its turn', () => passes.floor === 2)

  assert.deepEqual({ ...passes, statements }, { dishes: 1, floor: 2, statements: 2 })
})

test('passes are at least the interval of their loop apart', async () => {
  let passes = 0
  const due: { due: boolean[] }[] = [{ due: [true] }]
  const always = openDueCheck({ query: async <R extends object>(): Promise<R[]> => JSON.parse(JSON.stringify(due)) })
  const [slow] = always.over([
    { name: 'slow', everyMs: FOR_EVER_MS, isDue: 'true', runOnce: async () => (passes += 1) < 0 },
  ])
  assert(slow?.wake !== undefined)
  const { signal } = new AbortController()
  await slow.runOnce(signal)
  let isAwake = false
  const waited = slow.wake.wait(FOR_EVER_MS, signal).then(() => (isAwake = true))

  await always.loop.runOnce(signal)
  await new Promise(setImmediate)

  assert.equal(isAwake, false)
  slow.wake.ring()
  await waited
  assert.equal(passes, 1)
})

test('while a table is locked, every loop asks by itself, and a stop does not wait for the table', async (t) => {
  const { database } = await testDatabase(t)
  let statements = 0
  const check = openDueCheck({
    query(sql, params) {
      statements += 1
      return database.query(sql, params)
    },
  })
  const [loop] = check.over([
    { name: 'any', everyMs: 1, isDue: 'exists (select from jobs)', runOnce: async () => false },
  ])
  const { signal } = new AbortController()
  const unlock = new Waiter<void>({ timeoutMs: Infinity, onTimeout: () => {} })
  const locked = new Waiter<void>({ timeoutMs: Infinity, onTimeout: () => {} })
  const locking = database.transaction(async (tx) => {
    await tx.query('lock table jobs in access exclusive mode')
    locked.resolve()
    for (; !unlock.hasLeft; await sleep(100)) await tx.query('select') // a transaction that is idle is ended
  })
  await locked.answer

  await check.loop.runOnce(signal)
  await loop?.wake?.wait(FOR_EVER_MS, signal)
  await check.loop.runOnce(signal)
  await check.loop.runOnce(AbortSignal.abort())

  assert.equal(statements, 1, 'the first is still waiting for its answer')
  unlock.resolve()
  await locking
})

test('when the check fails, every loop asks by itself', async () => {
  const check = openDueCheck({ query: () => Promise.reject(new Error('no answer')) })
  const [loop] = check.over([{ name: 'any', everyMs: 1, isDue: 'true', runOnce: async () => false }])
  const { signal } = new AbortController()

  await assert.rejects(check.loop.runOnce(signal))

  await loop?.wake?.wait(FOR_EVER_MS, signal)
})

test('long pauses of loops end at the same times, and never late', () => {
  const ends = [3, 120, 249].map((now) => now + onGrid(1000, now))

  assert.deepEqual(ends, [1000, 1000, 1000])
  assert.equal(onGrid(250, 3), 250)
})
