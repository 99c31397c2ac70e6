import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDataError } from '../../src/core/db/database.ts'
import { storableJson } from '../../src/core/db/params.ts'

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
