// Random JSON texts: every way to write a number, a string or a space that the grammar has, and keys that are hard to sort.

const KEYS = [
  'a',
  'b',
  'aa',
  'A',
  '',
  '\u{e9}',
  'e\u{301}',
  '\u{ffff}',
  '\u{1f600}',
  '\u{e000}',
  '\u{10ffff}',
  '\\n',
  '\\u0041',
]
const TEXTS = [
  ...KEYS,
  '\u{7f}',
  '\u{2028}\u{2029}',
  '\\"\\\\\\/',
  '\\b\\f\\n\\r\\t',
  '\\u0001\\u001F',
  '\\ud83D\\ude00',
  'x'.repeat(50),
]
const NUMBERS = [
  '0',
  '-0',
  '0.0',
  '-0.0',
  '1.0',
  '1e16',
  '1E+16',
  '9999999999999998.0',
  '1e-4',
  '0.00001',
  '1e22',
  '5e-324',
  '1.7976931348623157e308',
  '2.2250738585072014e-308',
  '9007199254740993',
  '9007199254740993.0',
  '0e999',
  '1e-999',
  '123456789012345678901234567890',
]

export function randomJson(random: () => number, depth = 0): string {
  const below = (limit: number) => Math.floor(random() * limit)
  const one = <T>(items: readonly [T, ...T[]] | readonly T[]): T => {
    const item = items[below(items.length)]
    if (item === undefined) throw new Error('There is nothing to choose from.')
    return item
  }
  const space = () => (below(4) === 0 ? one([' ', '\n', '\t', '\r', ' \n ']) : '')
  const digits = (max: number) => Array.from({ length: 1 + below(max) }, () => below(10)).join('')
  const whole = () => digits(below(10) === 0 ? 400 : 20).replace(/^0+(?=\d)/, '')
  const double = () => {
    const view = new DataView(new ArrayBuffer(8))
    view.setUint32(0, below(2 ** 32))
    view.setUint32(4, below(2 ** 32))
    const value = view.getFloat64(0)
    return Number.isFinite(value) ? String(value) : '0.5'
  }
  const decimal = () => {
    const fraction = below(3) === 0 ? '' : `.${digits(20)}`
    const exponent = fraction === '' || below(2) === 0 ? `${one(['e', 'E'])}${one(['', '+', '-'])}${below(120)}` : ''
    return digits(18).replace(/^0+(?=\d)/, '') + fraction + exponent
  }
  const number = () => one(['', '-']) + one([whole, double, decimal, () => one(NUMBERS)])().replace(/^-/, '')
  const text = () => `"${one(TEXTS)}${below(3) === 0 ? one(TEXTS) : ''}"`
  const list = () => `[${space()}${items(() => randomJson(random, depth + 1)).join(',')}${space()}]`
  const items = (make: () => string) => Array.from({ length: below(5) }, () => `${space()}${make()}${space()}`)
  const object = () =>
    `{${space()}${items(() => `"${one(KEYS)}${below(3) === 0 ? one(KEYS) : ''}"${space()}:${space()}${randomJson(random, depth + 1)}`).join(',')}}`

  const simple = [number, number, text, () => one(['true', 'false', 'null'])]
  return one(depth > 3 ? simple : [...simple, list, object, object])()
}
