import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { excessOf } from '../../src/core/http/request/json-shape.ts'

describe('the shape of JSON', () => {
  test('brackets within a string are text, whatever is escaped in it', () => {
    const deep = '['.repeat(200)
    const inString = [`"${deep}"`, String.raw`"\"${deep}"`, String.raw`"\\\"${deep}"`, String.raw`{"a\"${deep}": "\\"}`]
    const outside = [deep, `"a"${deep}`, String.raw`"\\"${deep}`, String.raw`"\"\\"${deep}`, `"${deep}" ${deep}`]

    assert.deepEqual(
      inString.map((text) => excessOf(text)),
      inString.map(() => null),
    )
    for (const text of outside) assert.match(excessOf(text) ?? '', /nested deeper/)
  })

  test('different keys are counted, values and repeated keys are not', () => {
    const members = (count: number, name: (index: number) => string) =>
      `[${Array.from({ length: count }, (_, index) => `{"${name(index)}": "${index}"}`).join()}]`

    assert.match(excessOf(members(60_000, (index) => `k${index}`)) ?? '', /different keys/)
    assert.equal(excessOf(members(60_000, () => 'k')), null)
  })

  test('arrays, objects and values are counted where there is a limit to them', () => {
    const most = { containers: 3, values: 4 }

    assert.equal(excessOf('[[1,2],{"a":"[[[,,,,"},3]', most), null)
    assert.match(excessOf('[[],[],[]]', most) ?? '', /arrays and objects/)
    assert.match(excessOf('[1,2,3,4,5]', most) ?? '', /4 values/)
    assert.equal(excessOf(JSON.stringify(Array.from({ length: 100_000 }, () => []))), null)
  })

  test('a string that never ends is for the parser to refuse', () => {
    assert.equal(excessOf(`"${'\\\\'.repeat(2_000_000)}`), null)
  })
})
