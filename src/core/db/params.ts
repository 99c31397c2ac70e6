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

export const booleansParam = (values: readonly boolean[]): string => `{${values.join(',')}}`

export const nullableTexts = (values: readonly (string | null)[]): string | readonly (string | null)[] | null =>
  values.every((value) => value !== null) ? textsParam(values) : nullable(values)

export const nullableNumbers = (values: readonly (number | null)[]): string | readonly (number | null)[] | null =>
  values.every((value) => value !== null) ? numbersParam(values) : nullable(values)

/** Null where every value is. */
const nullable = <T>(values: readonly (T | null)[]): readonly (T | null)[] | null =>
  values.some((value) => value !== null) ? values : null
