import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import { isWithin, parseDecimal, type Decimal } from '../../src/doors/challenge/challenger/decimal.ts'
import { isSameFolded } from '../../src/doors/challenge/challenger/fold-case.ts'
import { compareAnswer } from '../../src/doors/challenge/challenger/validation-rule.ts'

const isNear = (expected: string, given: string, tolerance: number) =>
  compareAnswer({ rule: { type: 'NumericTolerance', tolerance }, expected, given })

function decimal(text: string): Decimal {
  const value = parseDecimal(text)
  assert(value !== null)
  return value
}

describe('NumericTolerance', () => {
  test('decimals are compared exactly, at the edge of the tolerance and with more digits than a float has', () => {
    assert(isNear('1', '1.1', 0.1))
    assert(!isNear('1', '1.10000000000000000000000000001', 0.1))
    assert(!isNear('12345678901234567891', '12345678901234567890', 0))
    assert(isNear('12345678901234567891', '12345678901234567890', 1))
    assert(isNear('-0.05', '0.05', 0.1))
    assert(!isNear('-0.05', '0.06', 0.1))
    assert(isNear('0', '-0', 0))
    assert(isNear('1e3', '1000.000', 0))
    assert(isNear('1e-999', '0', 1e-300))
    assert(isNear('3.14', ' +3.1400e0\n', 0))
  })

  test('what is no decimal number is never near', () => {
    for (const text of ['', ' ', '.', '1.2.3', '0x10', 'NaN', 'Infinity', '1e1000', '1_000', '--1', '1 2']) {
      assert.equal(parseDecimal(text), null, text)
      assert(!isNear('1', text, 1e300))
    }
  })

  test('a million digits take as many steps as they have digits', () => {
    const long = '7'.repeat(999_999)

    assert(isNear(`${long}1`, `${long}2`, 1))
    assert(!isNear(`${long}1`, `${long}3`, 1))
    assert(isNear(`0.${long.slice(2)}1`, `.${long.slice(2)}2`, 1e-300))
  })

  test('integers compare as big integers do', () => {
    const big = fc.bigInt(-(10n ** 30n), 10n ** 30n)
    fc.assert(
      fc.property(big, big, fc.bigInt(0n, 10n ** 30n), (a, b, most) => {
        const distance = a > b ? a - b : b - a
        assert.equal(isWithin(decimal(String(a)), decimal(String(b)), decimal(String(most))), distance <= most)
      }),
    )
  })
})

describe('case-insensitive comparison', () => {
  test('folds as Unicode does, one character to one', () => {
    assert(isSameFolded('ΟΔΟΣ', 'οδος'))
    assert(isSameFolded('οδοσ', 'οδος'))
    assert(isSameFolded('Maſſe', 'MASSE'))
    assert(isSameFolded('ẞ', 'ß'))
    assert(isSameFolded('K', 'k')) // the Kelvin sign
    assert(!isSameFolded('ı', 'i'))
    assert(!isSameFolded('ß', 'ss'))
    assert(!isSameFolded('a', 'b'))
  })

  test('every character equals its own upper and lower case where a regular expression with iu says so', () => {
    const wrong: string[] = []
    for (let code = 0; code <= 0x1ffff; code += 1) {
      if (code >= 0xd800 && code <= 0xdfff) continue
      const character = String.fromCodePoint(code)
      for (const other of [character.toUpperCase(), character.toLowerCase()]) {
        if (other === character || [...other].length !== 1) continue
        const isAlike = new RegExp(`^\\u{${code.toString(16)}}$`, 'iu').test(other)
        if (isSameFolded(character, other) !== isAlike) wrong.push(`${code.toString(16)} ${other}`)
      }
    }

    assert.deepEqual(wrong, [])
  })
})
