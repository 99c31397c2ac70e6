// Canonical JSON as Python writes it: json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False).
//
// It works on the text, not on parsed values: 1 and 1.0 are the same number to JavaScript and two different ones to Python,
// and JavaScript cannot represent an integer of 20 digits. Keys are sorted by code point, where JavaScript compares
// halves of surrogate pairs. What JSON does not have (NaN, Infinity, 1e999) and half a surrogate pair are refused.

const DEPTH_MAX = 500
const REST_OF_NUMBER = /(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y

const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** The text is not JSON, or not JSON that both languages can write. */
export class NotCanonical extends Error {
  override name = 'NotCanonical'
}

/** The canonical form of a JSON text. */
export function canonicalText(text: string): string {
  if (!text.isWellFormed()) throw new NotCanonical('The text holds half of a surrogate pair.')
  const reader = new Reader(text)
  const canonical = reader.value(0)
  reader.end()
  return canonical
}

/** The same for a value: what JSON.stringify makes of it, made canonical. */
export function canonicalJson(value: unknown): string {
  const text = JSON.stringify(value)
  if (text === undefined) throw new NotCanonical('The value has no JSON form.')
  return canonicalText(text)
}

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(depth: number): string {
    const unit = this.#skipSpace()
    if (unit === QUOTE) return this.#string()
    if (unit === OPEN_OBJECT) return this.#object(depth)
    if (unit === OPEN_LIST) return this.#list(depth)
    return unit === MINUS || (unit >= ZERO && unit <= NINE) ? this.#number() : this.#word()
  }

  end(): void {
    if (!Number.isNaN(this.#skipSpace())) throw this.#unexpected()
  }

  #object(depth: number): string {
    if (depth >= DEPTH_MAX) throw tooDeep()
    this.#at += 1
    if (this.#take(CLOSE_OBJECT)) return '{}'
    const members: Member[] = []
    let isSorted = true
    do {
      if (this.#skipSpace() !== QUOTE) throw this.#unexpected()
      const written = this.#string()
      const key: string = written.includes('\\') ? JSON.parse(written) : written.slice(1, -1)
      this.#expect(COLON)
      const text = `${written}:${this.value(depth + 1)}`
      const before = members.at(-1)
      if (before !== undefined && byCodePoint(before.key, key) >= 0) isSorted = false
      members.push({ key, text })
    } while (this.#take(COMMA))
    this.#expect(CLOSE_OBJECT)
    return `{${joined(isSorted ? members : sorted(members))}}`
  }

  #list(depth: number): string {
    if (depth >= DEPTH_MAX) throw tooDeep()
    this.#at += 1
    if (this.#take(CLOSE_LIST)) return '[]'
    let items = this.value(depth + 1)
    while (this.#take(COMMA)) items += `,${this.value(depth + 1)}`
    this.#expect(CLOSE_LIST)
    return `[${items}]`
  }

  /** With its quotes. Only a string with an escape in it can be written in more than one way. */
  #string(): string {
    const start = this.#at
    let hasEscape = false
    for (this.#at += 1; ; this.#at += 1) {
      const unit = this.#text.charCodeAt(this.#at)
      if (unit === QUOTE) break
      if (!(unit >= 0x20)) throw this.#unexpected() // also NaN, at the end of the text
      if (unit !== BACKSLASH) continue
      hasEscape = true
      this.#at += 1
    }
    this.#at += 1
    const written = this.#text.slice(start, this.#at)
    return hasEscape ? rewritten(written) : written
  }

  #number(): string {
    const start = this.#at
    if (this.#text.charCodeAt(this.#at) === MINUS) this.#at += 1
    const first = this.#text.charCodeAt(this.#at)
    let unit = first
    while (unit >= ZERO && unit <= NINE) unit = this.#text.charCodeAt((this.#at += 1))
    const digits = this.#text.slice(start, this.#at)
    if (!(first >= ZERO && first <= NINE) || /^-?0[0-9]/.test(digits)) throw this.#unexpected()
    if (unit !== POINT && unit !== 0x65 && unit !== 0x45) return digits === '-0' ? '0' : digits

    REST_OF_NUMBER.lastIndex = this.#at
    const rest = REST_OF_NUMBER.exec(this.#text)?.[0] ?? ''
    if (rest === '') throw this.#unexpected()
    this.#at += rest.length
    return floatText(Number(digits + rest))
  }

  #word(): string {
    const word = ['true', 'false', 'null'].find((name) => this.#text.startsWith(name, this.#at))
    if (word === undefined) throw this.#unexpected()
    this.#at += word.length
    return word
  }

  #expect(unit: number): void {
    if (!this.#take(unit)) throw this.#unexpected()
  }

  #take(unit: number): boolean {
    if (this.#skipSpace() !== unit) return false
    this.#at += 1
    return true
  }

  /** What comes after it; NaN at the end of the text. */
  #skipSpace(): number {
    let unit = this.#text.charCodeAt(this.#at)
    while (isSpace(unit)) unit = this.#text.charCodeAt((this.#at += 1))
    return unit
  }

  #unexpected(): NotCanonical {
    return new NotCanonical(`The text is not JSON at character ${this.#at}.`)
  }
}

interface Member {
  key: string
  /** "key":value */
  text: string
}

/** Of a key that comes twice, the last counts. */
const sorted = (members: readonly Member[]): Member[] =>
  [...new Map(members.map((member) => [member.key, member])).values()].sort((a, b) => byCodePoint(a.key, b.key))

/** Strings that are put together one by one stay ropes: nothing is copied on the way up. */
function joined(members: readonly Member[]): string {
  let text = ''
  for (const member of members) text += text === '' ? member.text : `,${member.text}`
  return text
}

const isSpace = (unit: number): boolean => unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09

const tooDeep = () => new NotCanonical(`The text is nested deeper than ${DEPTH_MAX} levels.`)

function rewritten(written: string): string {
  let value: string
  try {
    value = JSON.parse(written)
  } catch {
    throw new NotCanonical('A string holds an escape that JSON does not have.')
  }
  if (!value.isWellFormed()) throw new NotCanonical('A string holds half of a surrogate pair.')
  return JSON.stringify(value)
}

/** Both languages write the fewest digits that read back as the same number; when they write an exponent, they differ. */
function floatText(value: number): string {
  if (!Number.isFinite(value)) throw new NotCanonical('A number is too large for a float.')
  const size = Math.abs(value)
  if (size >= 1e-4 && size < 1e16) return Number.isInteger(value) ? `${value}.0` : String(value)
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  if (size === 0) return `${sign}0.0`
  const [mantissa, power] = size.toExponential().split('e')
  const exponent = Number(power)
  return `${sign}${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
}

/** UTF-16 puts the halves of a surrogate pair before U+E000 to U+FFFF; code points come after them. */
function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index += 1) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)]
    if (left !== right) return weight(left) - weight(right)
  }
  return a.length - b.length
}

const weight = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)
