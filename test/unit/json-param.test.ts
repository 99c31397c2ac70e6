import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isDataError } from '../../src/core/db/database.ts'
import { storableJson, storableJsonInTurns } from '../../src/core/db/params.ts'
import { hashBody, hashBodyInTurns } from '../../src/core/http/request/idempotency.ts'
import { jsonInTurns } from '../../src/core/values/json-pieces.ts'
import { startProcessorTimer } from '../support/processor-time.ts'
import { countTurns } from '../support/turns.ts'

test('a text that no column can hold is refused as bad data, wherever it is in the value', () => {
  for (const value of ['\0', ['x', { a: 'half \ud83d' }], { 'key \udc00': 1 }, '\\\0']) {
    assert.throws(() => storableJson(value), isDataError, JSON.stringify(value))
  }
})

test('the same is refused in a large value, wherever a piece of it ends', async () => {
  for (const bad of ['\0', 'half \ud83d']) {
    for (const before of [0, 65_535, 65_536, 200_000]) {
      const value = { text: `${'x'.repeat(before)}${bad}` }
      await assert.rejects(storableJsonInTurns(value, 1_000_000), isDataError, `${before}`)
    }
  }
  const fine = { text: `${'\\'.repeat(65_536)}u0000` }
  assert.equal(String(await storableJsonInTurns(fine, 1_000_000)), JSON.stringify(fine))
})

test('a text that only looks like it holds a NUL or half of a surrogate pair is accepted unchanged', () => {
  for (const value of ['\\u0000', '\\\\ud83d', 'u0000', '\u0001', '🎈', null, { a: ['\\u0000'] }]) {
    assert.equal(storableJson(value), JSON.stringify(value))
  }
})

describe('the JSON parameter of a large statement', () => {
  const LARGE = 1_000_000

  test('is byte for byte what JSON.stringify makes of it', async () => {
    const values = [
      null,
      {},
      [],
      [new Date(0), { at: new Date(1e12) }],
      [undefined, { a: undefined, b: [[], {}, ''] }],
      { text: `${'x'.repeat(65_535)}😀${'\n"\\'.repeat(50_000)}`, wide: '中😀'.repeat(60_000) },
      JSON.parse('{"__proto__":{"1":2},"a\\"b":[true,false,1.5,-0,1e21]}'),
    ]

    for (const value of values) {
      const bytes = await jsonInTurns(value, LARGE)
      assert(Buffer.isBuffer(bytes))
      assert.equal(bytes.toString(), JSON.stringify(value))
    }
  })

  test('has the same hash as when it is hashed at once, whatever the order of its keys', async () => {
    const entries = Array.from(
      { length: 3000 },
      (_, n) => [`k${(n * 7919) % 3000}`, { b: [n, 'é😀\n'], a: null }] as const,
    )
    const [one, other] = [Object.fromEntries(entries), Object.fromEntries(entries.toReversed())]

    assert.equal(await hashBodyInTurns(one, LARGE), hashBody(one))
    assert.equal(await hashBodyInTurns(other, LARGE), hashBody(one))
    assert.notEqual(await hashBodyInTurns({ ...one, k1: 1 }, LARGE), hashBody(one))
  })

  test('is made in many turns of the event loop', async () => {
    const turns = countTurns()

    await jsonInTurns({ text: 'x'.repeat(5_000_000) }, LARGE)
    turns.stop()

    assert(turns.count() >= 70, `${turns.count()} turns`)
  })

  test('costs the same at every depth of nesting', async () => {
    const numbers = Array.from({ length: 300_000 }, () => 1)
    const nested = (depth: number): unknown => (depth === 0 ? numbers : [nested(depth - 1)])
    const processorMs = async (value: unknown) => {
      const processorTime = startProcessorTimer()
      await jsonInTurns(value, LARGE)
      return processorTime()
    }
    await processorMs(nested(0))

    const [flat, deep] = [await processorMs(nested(0)), await processorMs(nested(98))]

    assert(deep < 5 * flat + 50, `${deep} ms at depth 99, ${flat} ms at depth 1`)
  })
})
