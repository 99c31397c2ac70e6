// JSON is expensive because of its shape rather than its length: its depth, for code that walks it, and the number of
// different keys, for V8 (measured: 400,000 of them in 5 MB take 1.6 s to parse; the same text with ten keys takes 26 ms).
// One scan of the text before it is parsed checks both. It can pause, and finds places where a long text can be cut.
import { quickEnd, readString } from './json-string.ts'

const DEPTH_MAX = 100
const KEYS_MAX = 50_000
const KEY_CHARS_MAX = 65_536
const KEY_CHARS_MIN = 4 // "": two quotes, a colon and a value

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const ARRAY = 0x5b
const ARRAY_END = 0x5d
const OBJECT = 0x7b
const OBJECT_END = 0x7d

/** For callers that will copy the value, or parse it at once. */
export interface ShapeMax {
  /** Arrays and objects. */
  containers: number
  values: number
}

/** An array or object that is open at some place. `key`: of the member that is open there, if one is. */
export interface OpenContainer {
  isObject: boolean
  key: string | null
}

const ANY: ShapeMax = { containers: Infinity, values: Infinity }

/** A sentence that names the exceeded limit, or null. Does not check that the text is JSON. */
export const excessOf = (text: string, most?: ShapeMax): string | null => new JsonScan(text, most).run(Infinity)

export class JsonScan {
  readonly #text: string
  readonly #most: ShapeMax
  readonly #keys: Set<string> | null
  /** By depth: whether it is an object, and where the key of its last member is, quotes included. */
  readonly #isObject: boolean[] = []
  readonly #keyStart: number[] = []
  readonly #keyEnd: number[] = []
  #depth = 0
  #containers = 0
  #values = 1
  #isAfterColon = false
  /** Where the string that is being read begins. Null: none is. */
  #stringStart: number | null = null
  /** Everything before it has been read. */
  index = 0

  constructor(text: string, most: ShapeMax = ANY) {
    this.#text = text
    this.#most = most
    this.#keys = text.length > KEYS_MAX * KEY_CHARS_MIN ? new Set<string>() : null
  }

  /**
   * Reads to the end, or over the first comma at or after `until`, or into a string up to there, or for as long again if there is
   * neither. A sentence that names the exceeded limit, or null.
   */
  run(until: number): string | null {
    const text = this.#text
    const end = Math.min(text.length, until + (until - this.index))
    let { index } = this
    let excess: string | null = null
    if (this.#stringStart !== null) [index, excess] = this.#readString(this.#stringStart, index, until)
    for (; index < end && excess === null && this.#stringStart === null; index += 1) {
      const unit = text.charCodeAt(index)
      if (unit === QUOTE) {
        ;[index, excess] = this.#readString(index, index + 1, until)
        index -= 1
      } else if (unit === ARRAY || unit === OBJECT) {
        excess = this.#open(unit === OBJECT)
      } else if (unit === ARRAY_END || unit === OBJECT_END) {
        if (this.#depth > 0) this.#depth -= 1
      } else if (unit === COLON) {
        this.#isAfterColon = true
      } else if (unit === COMMA) {
        excess = this.#comma()
        if (index >= until) {
          index += 1
          break
        }
      }
    }
    this.index = Math.min(index, text.length)
    return excess
  }

  /** Whether it has paused in a string that is a value, or after a comma that separates two members, as far as its neighbours tell. */
  get canBeCut(): boolean {
    if (this.#stringStart !== null) return this.#isValueNext
    if (this.#depth === 0 || this.#text.charCodeAt(this.index - 1) !== COMMA) return false
    const before = this.#text.charCodeAt(skipSpaceBack(this.#text, this.index - 2))
    const after = this.#text.charCodeAt(skipSpace(this.#text, this.index))
    return !NO_MEMBER_BEFORE.has(before) && !NO_MEMBER_AFTER.has(after)
  }

  get isInString(): boolean {
    return this.#stringStart !== null
  }

  /** From the outside to the inside. */
  get open(): OpenContainer[] {
    return Array.from({ length: this.#depth }, (_, level) => {
      const isObject = this.#isObject[level] === true
      const isMemberOpen = level < this.#depth - 1 || this.isInString
      return { isObject, key: isObject && isMemberOpen ? this.#keyOf(level) : null }
    })
  }

  get #isValueNext(): boolean {
    return this.#depth === 0 || this.#isObject[this.#depth - 1] === false || this.#isAfterColon
  }

  /** Where it has paused, in the string or after it, and the exceeded limit. */
  #readString(start: number, from: number, until: number): [number, string | null] {
    const text = this.#text
    const end = from === start + 1 ? quickEnd(text, from, until) : null
    const { index, isClosed } = end === null ? readString(text, from, until) : { index: end, isClosed: true }
    this.#stringStart = isClosed ? null : start
    if (!isClosed) return [index, this.#isValueNext ? null : tooLong(index - start)]
    const isKey = text.charCodeAt(skipSpace(text, index + 1)) === COLON
    return [index + 1, isKey ? this.#readKey(start, index) : null]
  }

  #keyOf(level: number): string {
    const key: unknown = JSON.parse(this.#text.slice(this.#keyStart[level], this.#keyEnd[level]))
    return String(key)
  }

  #readKey(start: number, end: number): string | null {
    if (this.#depth > 0) {
      this.#keyStart[this.#depth - 1] = start
      this.#keyEnd[this.#depth - 1] = end + 1
    }
    if (end - start > KEY_CHARS_MAX || this.#keys === null) return tooLong(end - start)
    this.#keys.add(this.#text.slice(start + 1, end))
    return this.#keys.size > KEYS_MAX ? `The JSON has more than ${KEYS_MAX} different keys.` : null
  }

  #comma(): string | null {
    this.#isAfterColon = false
    this.#values += 1
    return this.#values > this.#most.values ? `The JSON has more than ${this.#most.values} values.` : null
  }

  #open(isObject: boolean): string | null {
    this.#isAfterColon = false
    this.#containers += 1
    if (this.#containers > this.#most.containers) {
      return `The JSON has more than ${this.#most.containers} arrays and objects.`
    }
    if (this.#depth >= DEPTH_MAX) return `The JSON is nested deeper than ${DEPTH_MAX} levels.`
    this.#isObject[this.#depth] = isObject
    this.#depth += 1
    return null
  }
}

const tooLong = (keyChars: number): string | null =>
  keyChars > KEY_CHARS_MAX ? `The JSON has a key of more than ${KEY_CHARS_MAX} characters.` : null

const NO_MEMBER_BEFORE = new Set([ARRAY, OBJECT, COMMA, COLON, NaN])
const NO_MEMBER_AFTER = new Set([ARRAY_END, OBJECT_END, COMMA, COLON, NaN])

function skipSpace(text: string, start: number): number {
  let index = start
  while (index < text.length && text.charCodeAt(index) <= 0x20) index += 1
  return index
}

function skipSpaceBack(text: string, start: number): number {
  let index = start
  while (index >= 0 && text.charCodeAt(index) <= 0x20) index -= 1
  return index
}
