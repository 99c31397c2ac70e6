// Rows as the one parameter of a statement. What a stranger may make megabytes long is made in steps, each in its own turn of
// the event loop: as text, as bytes, and then `pg` has only to copy them.
import { setImmediate as nextTurn } from 'node:timers/promises'

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
