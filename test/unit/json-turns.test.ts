import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import { parseBody } from '../../src/core/http/request/body.ts'
import { parseInTurns } from '../../src/core/http/request/json-turns.ts'
import { countTurns } from '../support/turns.ts'

const options = { check: () => {}, needsCheck: () => true, onExcess: (message: string) => new Error(message) }
const parse = (text: string, pieceChars: number) => parseInTurns(text, { ...options, pieceChars })

/** What it is, or that it is not JSON. */
const outcomeOf = async (parsed: () => unknown): Promise<unknown> => {
  try {
    return { value: await parsed() }
  } catch (error) {
    assert(error instanceof SyntaxError, String(error))
    return 'no JSON'
  }
}

describe('JSON in turns', () => {
  test('is what JSON.parse makes of it, wherever it is cut', async () => {
    const pieces = fc.integer({ min: 1, max: 30 })
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 5 }), pieces, fc.nat(3), async (value, pieceChars, space) => {
        const text = JSON.stringify(value, null, space)

        assert.deepEqual(await parse(text, pieceChars), JSON.parse(text), text)
      }),
    )
  })

  test('has the same strings, however they are escaped and wherever they are cut, and no piece has half of a pair', async () => {
    const units = ['a', '"', '\\', '\n', 'é', '中', '😀', '\u{10ffff}', '/', '\u0000', ',', '[', '}', ':']
    const texts = fc.array(fc.constantFrom(...units), { maxLength: 40 }).map((some) => some.join(''))
    const values = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        texts,
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(texts, tie('value'), { maxKeys: 3 }),
      ),
    })).value
    const escaped = (text: string) =>
      text.replaceAll(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    const check = (piece: unknown) => assert(!/\\ud[89a-f]/.test(JSON.stringify(piece)), 'half of a surrogate pair')

    await fc.assert(
      fc.asyncProperty(values, fc.integer({ min: 1, max: 30 }), async (value, pieceChars) => {
        const raw = JSON.stringify(value)
        for (const text of [raw, escaped(raw)]) {
          assert.deepEqual(await parseInTurns(text, { ...options, pieceChars, check }), JSON.parse(text), text)
        }
      }),
      { numRuns: 500 },
    )
  })

  test('is refused where JSON.parse refuses it, wherever it is cut', async () => {
    const token = fc.constantFrom(
      '[',
      ']',
      '{',
      '}',
      ',',
      ':',
      '1',
      '"a"',
      '"b"',
      '"',
      ' ',
      '"a":',
      'x',
      '\\',
      '\\u',
      '\\"',
      '\\ud83d',
    )
    const broken = fc.oneof(
      fc.array(token, { maxLength: 20 }).map((tokens) => tokens.join('')),
      fc.tuple(fc.jsonValue({ maxDepth: 4 }), token, fc.nat(), fc.nat(2)).map(([value, inserted, at, removed]) => {
        const text = JSON.stringify(value)
        const index = at % (text.length + 1)
        return `${text.slice(0, index)}${inserted}${text.slice(index + removed)}`
      }),
    )
    await fc.assert(
      fc.asyncProperty(broken, fc.integer({ min: 1, max: 10 }), async (text, pieceChars) => {
        const expected = await outcomeOf(() => JSON.parse(text))

        assert.deepEqual(await outcomeOf(() => parse(text, pieceChars)), expected, text)
      }),
      { numRuns: 2000 },
    )
  })

  test('keeps the last of equal keys, and __proto__ as a key like any other', async () => {
    const texts = [
      '{"a":[1,2,3],"a":[4],"b":5}',
      '{"1":[1,2,3],"1":7,"0":8}',
      '{"1":[1,2,3],"1":[7],"0":8}',
      '{"1":"abcdef","1":"x","0":8}',
      '{"a":{"1":{"b":"abc","c":1},"1":{"d":2}}}',
      '{"a":{"__proto__":{"x":1,"y":2},"b":[1,2]},"__proto__":[1,2]}',
      '{"__proto__":[1,2,3],"a":1}',
    ]
    for (const text of texts) {
      for (let pieceChars = 1; pieceChars < text.length; pieceChars += 1) {
        assert.equal(JSON.stringify(await parse(text, pieceChars)), JSON.stringify(JSON.parse(text)), text)
      }
    }
  })

  test('cuts a long string, however it is escaped', async () => {
    for (const unit of ['x', '\\"', '\\\\', '\\u4e2d', '中', '😀']) {
      let longest = 0
      const check = (piece: unknown) => (longest = Math.max(longest, JSON.stringify(piece).length))

      await parseInTurns(`{"a":["${unit.repeat(5000)}"]}`, { ...options, pieceChars: 1000, check })

      assert(longest < 2100, `${unit}: ${longest} characters`)
    }
  })

  test('checks every piece, and refuses what exceeds a limit', async () => {
    const pieces: unknown[] = []

    await parseInTurns('[[1,2],[3,4]]', {
      ...options,
      pieceChars: 4,
      check: (piece) => pieces.push(structuredClone(piece)),
    })

    assert.deepEqual(pieces, [[[1, 2]], [[3, 4]]])
    await assert.rejects(parse(`[1,2,3,${'['.repeat(200)}`, 2), /nested deeper/)
    await assert.rejects(
      parseInTurns('[1,2,3,4,5]', { ...options, most: { containers: 1, values: 4 }, pieceChars: 2 }),
      /4 values/,
    )
    await assert.rejects(parse(`{"${'x'.repeat(65_537)}":1}`, 1000), /a key of more than 65536 characters/)
    const keys = Array.from({ length: 50_001 }, (_, n) => `"${n}":1`)
    await assert.rejects(parse(`{${keys.join()}}`, 1000), /50000 different keys/)
    assert.equal(Object.keys(Object(await parse(`{${keys.slice(1).join()}}`, 1000))).length, 50_000)
  })

  test('lets others run while 5 MB of it are parsed or refused', async () => {
    const numbers = `{"payload":[${'1,'.repeat(2_500_000)}1]}`
    const quotes = `{"payload":"${'\\"'.repeat(2_500_000)}"}`
    const key = `{"${'\\"'.repeat(2_500_000)}":1}`
    for (const text of [numbers, `${numbers}]`, 'x'.repeat(5_000_000), quotes, `"${'\\u4e2d'.repeat(800_000)}"`, key]) {
      const turns = countTurns()

      await parseBody(Buffer.from(text), { passesOn: false }).catch(() => {})

      turns.stop()
      assert(turns.count() >= 10, `${turns.count()} turns`)
    }
  })
})
