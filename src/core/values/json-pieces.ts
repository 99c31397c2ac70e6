// JSON of untrusted data in pieces. Megabytes of it are made in several turns of the event loop.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isObject } from './is-object.ts'

/** Above this size, converting a text takes milliseconds. */
export const LARGE_BYTES = 256 * 1024

const PIECE_CHARS = 64 * 1024

/** As a parameter of a statement or as an answer: `pg` and Node only copy the bytes. `bytesAbout`: about how large it will be. */
export async function jsonInTurns(
  value: unknown,
  bytesAbout: number,
  check: (json: string) => void = () => {},
): Promise<string | Buffer> {
  if (bytesAbout <= LARGE_BYTES) {
    const json = JSON.stringify(value)
    check(json)
    return json
  }
  const chunks: Buffer[] = []
  for await (const text of jsonChunks(value)) {
    check(text)
    chunks.push(Buffer.from(text))
  }
  return Buffer.concat(chunks)
}

/** What JSON.stringify makes of plain data, each chunk in a turn of its own. `isSorted`: keys in the order of their characters. */
export async function* jsonChunks(value: unknown, isSorted = false): AsyncGenerator<string> {
  let text = ''
  for (const piece of jsonPieces(value, isSorted)) {
    text += piece
    if (text.length < PIECE_CHARS) continue
    yield text
    text = ''
    await nextTurn()
  }
  yield text
}

function* jsonPieces(value: unknown, isSorted: boolean): Generator<string> {
  if (typeof value === 'string') {
    yield* textPieces(value)
  } else if (Array.isArray(value)) {
    yield '['
    for (const [index, item] of value.entries()) {
      if (index > 0) yield ','
      yield* jsonPieces(item, isSorted)
    }
    yield ']'
  } else if (isObject(value) && !(value instanceof Date)) {
    let before = '{'
    const members = Object.entries(value)
    if (isSorted) members.sort(([a], [b]) => (a < b ? -1 : 1))
    for (const [key, member] of members) {
      if (member === undefined) continue
      yield `${before}${JSON.stringify(key)}:`
      yield* jsonPieces(member, isSorted)
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
