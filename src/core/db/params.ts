// Rows as the one parameter of a statement. What a stranger may make megabytes long is made in steps, each in its own turn of
// the event loop: as text, as bytes, and then `pg` has only to copy them.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** JSON that no column can hold: U+0000, or half of a character. */
export class Unstorable extends Error {
  override name = 'Unstorable'
}

// The only escapes that JSON.stringify writes for them; an even number of backslashes before the u is a text about backslashes.
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/

/** PostgreSQL would take such a text as JSON, and choke on it whenever it is asked to look into it. */
export function storableJson(value: unknown): string {
  const text = JSON.stringify(value)
  if (text.includes('\\u') && UNSTORABLE.test(text))
    throw new Unstorable('The value holds a character that cannot be stored.')
  return text
}

/** From here on, what is done with a text or its bytes takes milliseconds. */
export const LARGE_BYTES = 256 * 1024

export async function jsonParam(value: unknown): Promise<string | Buffer> {
  const text = JSON.stringify(value)
  if (text.length <= LARGE_BYTES) return text
  await nextTurn()
  const bytes = Buffer.from(text)
  await nextTurn()
  return bytes
}

// Arrays as parameters of a statement. `pg` would look at each value to escape it; where nothing needs escaping, and that is
// nearly always, one look at all of them will do.

const NEEDS_ESCAPING = /["\\]/

export const textsParam = (values: readonly string[]): string | readonly string[] =>
  values.length === 0 || NEEDS_ESCAPING.test(values.join('')) ? values : `{"${values.join('","')}"}`

export const numbersParam = (values: readonly number[]): string => `{${values.join(',')}}`
