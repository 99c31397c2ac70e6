// Parses bodies: UTF-8, bounded in depth and in the number of keys, and without characters that PostgreSQL cannot store.
// A large body is parsed in several turns of the event loop.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { LARGE_BYTES } from '../../values/json-pieces.ts'
import { HttpError } from '../errors/http-error.ts'
import { excessOf, type ShapeMax } from './json-shape.ts'
import { parseInTurns } from './json-turns.ts'

export const BODY_BYTES_MAX = 5 * 1024 * 1024
/** For requests without authentication. */
export const STRANGER_BYTES_MAX = 64 * 1024

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** How a body is refused, and what is checked in it. */
interface JsonRules {
  onExcess(message: string): HttpError
  needsCheck(text: string): boolean
  check(value: unknown): void
}

const OWN: JsonRules = {
  onExcess: (message) => invalid(message),
  // Only an escape can produce a NUL or a lone surrogate from valid UTF-8.
  needsCheck: (text) => text.includes('\\u') || text.includes('__proto__'),
  check: (value) => checkTexts(value, refuseProto),
}

/** For routes that take JSON for others: `__proto__` is a key like any other, and an exceeded limit is named in a 422. */
const PASSED_ON: JsonRules = {
  onExcess: (message) =>
    new HttpError(422, 'validation_failed', message, { fields: [{ path: ['body'], message, rule: 'limit' }] }),
  needsCheck: (text) => text.includes('\\u'),
  check: (value) => checkTexts(value),
}

interface BodyOptions {
  passesOn: boolean
  /** If its shape is bounded more narrowly than that of any body. */
  most?: ShapeMax
}

/** Of a request. An empty body is undefined; the schema decides whether one is required. */
export async function parseBody(bytes: Uint8Array, { passesOn, most }: BodyOptions): Promise<unknown> {
  const rules = passesOn ? PASSED_ON : OWN
  if (bytes.length <= LARGE_BYTES) return parseAtOnce(rules, bytes, most)
  const text = await decodeInTurns(bytes)
  return parseInTurns(text, { most, ...rules }).catch((error: unknown) => {
    throw error instanceof SyntaxError ? notJson() : error
  })
}

function parseAtOnce(
  { onExcess, needsCheck, check }: JsonRules,
  bytes: Uint8Array,
  most: ShapeMax | undefined,
): unknown {
  if (bytes.length === 0) return undefined
  const text = decode(bytes)
  const excess = excessOf(text, most)
  if (excess !== null) throw onExcess(excess)
  const value = parse(text)
  if (needsCheck(text)) check(value)
  return value
}

function refuseProto(key: string): void {
  if (key === '__proto__') throw invalid('The JSON has a key named __proto__.')
}

export function parseForm(text: string): Record<string, string> {
  if (!isDecodable(text)) throw new HttpError(400, 'bad_request', 'The form is not valid UTF-8.')
  const fields = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(text)) {
    if (fields.has(name)) throw new HttpError(400, 'bad_request', 'The form names a field twice.')
    checkTexts([name, value])
    fields.set(name, value)
  }
  if (fields.has('__proto__')) throw invalid('The form has a field named __proto__.')
  return Object.fromEntries(fields)
}

const invalid = (message: string) => new HttpError(400, 'invalid_json', message)

/** The parser's own message quotes the body, which may contain a password. */
const notJson = () => invalid('The body is not valid JSON.')

function decode(bytes: Uint8Array, decoder = utf8, options?: { stream: boolean }): string {
  try {
    return decoder.decode(bytes, options)
  } catch {
    throw invalid('The body is not valid UTF-8.')
  }
}

async function decodeInTurns(bytes: Uint8Array): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  for (let start = 0; start < bytes.length; start += LARGE_BYTES) {
    const isLast = start + LARGE_BYTES >= bytes.length
    text += decode(bytes.subarray(start, start + LARGE_BYTES), decoder, { stream: !isLast })
    await nextTurn()
  }
  return text
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw notJson()
  }
}

function isDecodable(text: string): boolean {
  try {
    return !decodeURIComponent(text).includes('\u{fffd}')
  } catch {
    return false
  }
}

function checkTexts(root: unknown, checkKey: (key: string) => void = () => {}): void {
  const stack: unknown[] = [root]
  while (stack.length > 0) {
    const value = stack.pop()
    if (typeof value === 'string') {
      checkText(value)
    } else if (Array.isArray(value)) {
      for (const item of value) stack.push(item)
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        checkKey(key)
        checkText(key)
        stack.push(item)
      }
    }
  }
}

function checkText(text: string): void {
  if (text.includes('\0')) throw invalid('A string holds a NUL character.')
  if (!text.isWellFormed()) throw invalid('A string holds half of a surrogate pair.')
}
