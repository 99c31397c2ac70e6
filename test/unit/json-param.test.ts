import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isDataError } from '../../src/core/db/database.ts'
import { jsonParam, storableJson } from '../../src/core/db/params.ts'

test('what no column can hold is refused as bad data, wherever in the value it is', () => {
  for (const value of ['\0', ['x', { a: 'half \ud83d' }], { 'key \udc00': 1 }, '\\\0']) {
    assert.throws(() => storableJson(value), isDataError, JSON.stringify(value))
  }
})

test('a text that only looks like it is taken as it is', () => {
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
      [undefined, { a: undefined, b: [[], {}, ''] }],
      { text: `${'x'.repeat(65_535)}😀${'\n"\\'.repeat(50_000)}`, wide: '中😀'.repeat(60_000) },
      JSON.parse('{"__proto__":{"1":2},"a\\"b":[true,false,1.5,-0,1e21]}'),
    ]

    for (const value of values) {
      const bytes = await jsonParam(value, LARGE)
      assert(Buffer.isBuffer(bytes))
      assert.equal(bytes.toString(), JSON.stringify(value))
    }
  })

  test('is made in many turns of the event loop', async () => {
    let turns = 0
    let isOver = false
    const turn = () => {
      turns += 1
      if (!isOver) setImmediate(turn)
    }
    setImmediate(turn)

    await jsonParam({ text: 'x'.repeat(5_000_000) }, LARGE)
    isOver = true

    assert(turns >= 70, `${turns} turns`)
  })
})
