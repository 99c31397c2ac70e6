// Decimal numbers compared exactly, digit by digit, in time linear in their length: a binary float would call 1.1 too far
// from 1 for a tolerance of 0.1, and a big integer of a million digits takes more than linear time to parse.

const NUMBER = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d{1,3}))?$/

export interface Decimal {
  isNegative: boolean
  /** Its digits without leading zeros, most significant first. Zero has none. */
  digits: string
  /** The value is `digits` × 10^`exponent`. */
  exponent: number
}

/** Null: not a decimal number. Surrounding spaces are ignored; NaN, infinity and hexadecimal are no numbers. */
export function parseDecimal(text: string): Decimal | null {
  const [, sign, mantissa, exponent = '0'] = NUMBER.exec(text.trim()) ?? []
  if (mantissa === undefined) return null
  const [whole = '', fraction = ''] = mantissa.split('.')
  const all = whole + fraction
  let first = 0
  while (first < all.length && all[first] === '0') first += 1
  const digits = all.slice(first)
  return { isNegative: sign === '-' && digits !== '', digits, exponent: Number(exponent) - fraction.length }
}

/** Whether |a − b| ≤ tolerance, exactly. */
export function isWithin(a: Decimal, b: Decimal, tolerance: Decimal): boolean {
  const exponent = Math.min(a.exponent, b.exponent, tolerance.exponent)
  const length = 1 + Math.max(...[a, b, tolerance].map((value) => value.digits.length + value.exponent - exponent))
  const [left, right, most] = [a, b, tolerance].map((value) => digitsOf(value, { exponent, length }))
  if (left === undefined || right === undefined || most === undefined) return false
  const distance = a.isNegative === b.isNegative ? difference(left, right) : sum(left, right)
  return compare(distance, most) <= 0
}

type Digits = Uint8Array

/** Aligned to `exponent`, with leading zeros up to `length`. */
function digitsOf(value: Decimal, { exponent, length }: { exponent: number; length: number }): Digits {
  const digits = new Uint8Array(length)
  const start = length - value.digits.length - (value.exponent - exponent)
  for (let index = 0; index < value.digits.length; index += 1) {
    digits[start + index] = value.digits.charCodeAt(index) - 0x30
  }
  return digits
}

function compare(a: Digits, b: Digits): number {
  for (let index = 0; index < a.length; index += 1) {
    const order = (a[index] ?? 0) - (b[index] ?? 0)
    if (order !== 0) return order
  }
  return 0
}

function sum(a: Digits, b: Digits): Digits {
  const result = new Uint8Array(a.length)
  let carry = 0
  for (let index = a.length - 1; index >= 0; index -= 1) {
    const digit = (a[index] ?? 0) + (b[index] ?? 0) + carry
    carry = digit >= 10 ? 1 : 0
    result[index] = digit - 10 * carry
  }
  return result
}

function difference(a: Digits, b: Digits): Digits {
  const [more, less] = compare(a, b) >= 0 ? [a, b] : [b, a]
  const result = new Uint8Array(a.length)
  let borrow = 0
  for (let index = a.length - 1; index >= 0; index -= 1) {
    const digit = (more[index] ?? 0) - (less[index] ?? 0) - borrow
    borrow = digit < 0 ? 1 : 0
    result[index] = digit + 10 * borrow
  }
  return result
}
