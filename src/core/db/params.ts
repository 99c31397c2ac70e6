// Values as parameters of a statement.
import { jsonInTurns } from '../values/json-pieces.ts'

/** JSON that no column can hold: U+0000, or half of a character. */
export class Unstorable extends Error {
  override name = 'Unstorable'
}

// The only escapes that JSON.stringify writes for them; after an even number of backslashes, `u` is plain text.
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/

/** PostgreSQL accepts such text as json, and fails later whenever a statement reads a field of it. */
export function storableJson(value: unknown): string {
  const json = JSON.stringify(value)
  checkStorable(json)
  return json
}

/** The same for a value that may be large: that is made in several turns of the event loop. */
export const storableJsonInTurns = (value: unknown, bytesAbout: number): Promise<string | Buffer> =>
  jsonInTurns(value, bytesAbout, checkStorable)

function checkStorable(json: string): void {
  if (json.includes('\\u') && UNSTORABLE.test(json))
    throw new Unstorable('The value holds a character that cannot be stored.')
}

// Arrays as parameters of a statement. `pg` checks every value for characters to escape; one check of all values together is
// cheaper, and nearly always finds none.

const NEEDS_ESCAPING = /["\\]/

export const textsParam = (values: readonly string[]): string | readonly string[] =>
  values.length === 0 || NEEDS_ESCAPING.test(values.join('')) ? values : `{"${values.join('","')}"}`

export const numbersParam = (values: readonly number[]): string => `{${values.join(',')}}`

// A UUID array as PostgreSQL's binary format: half the bytes, and no text to parse.
const UUID_ARRAY_OID = 2950
const ARRAY_HEADER_BYTES = 20
const UUID_BYTES = 16
const UUID_LENGTH_WORD = '00000010' // before each element, in hexadecimal

/** Written by one conversion of all ids together. An id that is none goes as text, for PostgreSQL to refuse. */
export function uuidsParam(ids: readonly string[]): Buffer | string | readonly string[] {
  const hex = (UUID_LENGTH_WORD + ids.join(UUID_LENGTH_WORD)).replaceAll('-', '')
  const body = Buffer.from(hex, 'hex')
  if (ids.length === 0 || !holdsUuids(body, ids.length)) return textsParam(ids)
  const header = Buffer.alloc(ARRAY_HEADER_BYTES)
  header.writeInt32BE(1, 0) // dimensions
  header.writeInt32BE(UUID_ARRAY_OID, 8)
  header.writeInt32BE(ids.length, 12)
  header.writeInt32BE(1, 16) // the first index
  return Buffer.concat([header, body])
}

function holdsUuids(body: Buffer, count: number): boolean {
  const step = 4 + UUID_BYTES
  if (body.length !== count * step) return false
  for (let at = 0; at < body.length; at += step) if (body.readInt32BE(at) !== UUID_BYTES) return false
  return true
}

/** A column with the same value in every row is sent as an array of one, which `sameInAll` reads. */
export function onceIfSame<Item, T>(items: readonly Item[], valueOf: (item: Item) => T): readonly T[] {
  const [first] = items
  if (first === undefined) return []
  const common = valueOf(first)
  return items.every((item) => valueOf(item) === common) ? [common] : items.map(valueOf)
}

export const booleansParam = (values: readonly boolean[]): string => `{${values.join(',')}}`

export const nullableTexts = (values: readonly (string | null)[]): string | readonly (string | null)[] | null =>
  values.every((value) => value !== null) ? textsParam(values) : nullable(values)

export const nullableNumbers = (values: readonly (number | null)[]): string | readonly (number | null)[] | null =>
  values.every((value) => value !== null) ? numbersParam(values) : nullable(values)

/** Null where every value is. */
const nullable = <T>(values: readonly (T | null)[]): readonly (T | null)[] | null =>
  values.some((value) => value !== null) ? values : null
