// Rows as the one parameter of a statement. Megabytes of untrusted text are serialised in pieces, each in its own turn of the
// event loop; `pg` then only copies the bytes.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isObject } from '../values/is-object.ts'

/** JSON that no column can hold: U+0000, or half of a character. */
export class Unstorable extends Error {
  override name = 'Unstorable'
}

// The only escapes that JSON.stringify writes for them; after an even number of backslashes, `u` is plain text.
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/

/** PostgreSQL accepts such text as json, and fails later whenever a statement reads a field of it. */
export function storableJson(value: unknown): string {
  const text = JSON.stringify(value)
  if (text.includes('\\u') && UNSTORABLE.test(text))
    throw new Unstorable('The value holds a character that cannot be stored.')
  return text
}

/** Above this size, converting a text takes milliseconds. */
export const LARGE_BYTES = 256 * 1024

const PIECE_CHARS = 64 * 1024

/** `bytesAbout`: about how large the JSON will be. */
export async function jsonParam(value: unknown, bytesAbout: number): Promise<string | Buffer> {
  if (bytesAbout <= LARGE_BYTES) return JSON.stringify(value)
  const chunks: Buffer[] = []
  let text = ''
  for (const piece of jsonPieces(value)) {
    text += piece
    if (text.length < PIECE_CHARS) continue
    chunks.push(Buffer.from(text))
    text = ''
    await nextTurn()
  }
  return Buffer.concat([...chunks, Buffer.from(text)])
}

/** What JSON.stringify makes of plain data, in pieces of at most some PIECE_CHARS. */
function* jsonPieces(value: unknown): Generator<string> {
  if (typeof value === 'string') {
    yield* textPieces(value)
  } else if (Array.isArray(value)) {
    yield '['
    for (const [index, item] of value.entries()) {
      if (index > 0) yield ','
      yield* jsonPieces(item)
    }
    yield ']'
  } else if (isObject(value)) {
    let before = '{'
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined) continue
      yield `${before}${JSON.stringify(key)}:`
      yield* jsonPieces(member)
      before = ','
    }
    yield before === '{' ? '{}' : '}'
  } else {
    yield JSON.stringify(value) ?? 'null'
  }
}

/** Never cut inside a surrogate pair: its halves would be escaped. */
function* textPieces(text: string): Generator<string> {
  yield '"'
  for (let start = 0; start < text.length;) {
    const last = text.charCodeAt(start + PIECE_CHARS - 1)
    const end = start + PIECE_CHARS - (last >= 0xd800 && last <= 0xdbff ? 1 : 0)
    yield JSON.stringify(text.slice(start, end)).slice(1, -1)
    start = end
  }
  yield '"'
}

// Arrays as parameters of a statement. `pg` checks every value for characters to escape; one check of all values together is
// cheaper, and nearly always finds none.

const NEEDS_ESCAPING = /["\\]/

export const textsParam = (values: readonly string[]): string | readonly string[] =>
  values.length === 0 || NEEDS_ESCAPING.test(values.join('')) ? values : `{"${values.join('","')}"}`

export const numbersParam = (values: readonly number[]): string => `{${values.join(',')}}`
