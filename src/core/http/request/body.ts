// Parses bodies: UTF-8, bounded in depth and in the number of keys, and without characters that PostgreSQL cannot store.
import { excessOf, type ShapeMax } from './json-shape.ts'
import { HttpError } from '../errors/http-error.ts'

export const BODY_BYTES_MAX = 5 * 1024 * 1024
/** For requests without authentication. */
export const STRANGER_BYTES_MAX = 64 * 1024

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** An empty body is undefined; the schema decides whether one is required. */
export function parseJson(bytes: Uint8Array, most?: ShapeMax): unknown {
  if (bytes.length === 0) return undefined
  const text = decode(bytes)
  const excess = excessOf(text, most)
  if (excess !== null) throw invalid(excess)
  const value = parse(text)
  // Only an escape can produce a NUL or a lone surrogate from valid UTF-8.
  if (text.includes('\\u') || text.includes('__proto__')) checkTexts(value, refuseProto)
  return value
}

/** For routes that take JSON for others: `__proto__` is a key like any other, and an exceeded limit is named in a 422. */
export function parsePassedOnJson(bytes: Uint8Array): unknown {
  if (bytes.length === 0) return undefined
  const text = decode(bytes)
  const excess = excessOf(text)
  if (excess !== null) {
    throw new HttpError(422, 'validation_failed', excess, {
      fields: [{ path: ['body'], message: excess, rule: 'limit' }],
    })
  }
  const value = parse(text)
  if (text.includes('\\u')) checkTexts(value)
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

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw invalid('The body is not valid UTF-8.')
  }
}

/** The parser's own message quotes the body, which may contain a password. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalid('The body is not valid JSON.')
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
