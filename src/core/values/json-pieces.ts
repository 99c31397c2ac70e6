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
  for (const chunk of jsonTexts(value, isSorted)) {
    yield chunk
    await nextTurn()
  }
}

/** An array or object that is being written. `keys` is null for an array. */
interface OpenValue {
  keys: readonly string[] | null
  members: readonly unknown[]
  next: number
  end: string
}

/** Keeps a stack of its own: with a generator for each level, every piece would pass through all of them. */
function* jsonTexts(root: unknown, isSorted: boolean): Generator<string> {
  const open: OpenValue[] = [{ keys: null, members: [root], next: 0, end: '' }]
  let text = ''
  for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
    if (inner.next === inner.members.length) {
      text += inner.end
      open.pop()
      continue
    }
    if (inner.next > 0) text += ','
    if (inner.keys !== null) text += `${JSON.stringify(inner.keys[inner.next])}:`
    const value = inner.members[inner.next]
    inner.next += 1
    if (typeof value === 'string') {
      for (const piece of textPieces(value)) {
        text += piece
        if (text.length < PIECE_CHARS) continue
        yield text
        text = ''
      }
    } else if (Array.isArray(value)) {
      text += '['
      open.push({ keys: null, members: value, next: 0, end: ']' })
    } else if (isObject(value) && !(value instanceof Date)) {
      text += '{'
      open.push(openObject(value, isSorted))
    } else {
      text += JSON.stringify(value) ?? 'null'
    }
    if (text.length < PIECE_CHARS) continue
    yield text
    text = ''
  }
  yield text
}

function openObject(value: Record<string, unknown>, isSorted: boolean): OpenValue {
  const keys = Object.keys(value).filter((key) => value[key] !== undefined)
  if (isSorted) keys.sort()
  return { keys, members: keys.map((key) => value[key]), next: 0, end: '}' }
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
