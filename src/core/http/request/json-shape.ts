// JSON is expensive because of its shape rather than its length: its depth, for code that walks it, and the number of
// different keys, for V8 (measured: 400,000 of them in 5 MB take 1.6 s to parse; the same text with ten keys takes 26 ms).
// One scan of the text before it is parsed checks both.

const DEPTH_MAX = 100
const KEYS_MAX = 50_000
const KEY_CHARS_MIN = 4 // "": two quotes, a colon and a value

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c

/** For callers that copy the value, which costs more than parsing it. */
export interface ShapeMax {
  /** Arrays and objects. */
  containers: number
  values: number
}

const ANY: ShapeMax = { containers: Infinity, values: Infinity }

/** A sentence that names the exceeded limit, or null. Does not check that the text is JSON. */
export function excessOf(text: string, most: ShapeMax = ANY): string | null {
  const keys = text.length > KEYS_MAX * KEY_CHARS_MIN ? new Set<string>() : null
  let depth = 0
  let containers = 0
  let values = 1
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit === QUOTE) {
      const end = endOfString(text, index + 1)
      if (keys !== null && text.charCodeAt(skipSpace(text, end + 1)) === COLON) {
        keys.add(text.slice(index + 1, end))
        if (keys.size > KEYS_MAX) return `The JSON has more than ${KEYS_MAX} different keys.`
      }
      index = end
    } else if (unit === 0x5b || unit === 0x7b) {
      depth += 1
      containers += 1
      if (containers > most.containers) return `The JSON has more than ${most.containers} arrays and objects.`
      if (depth > DEPTH_MAX) return `The JSON is nested deeper than ${DEPTH_MAX} levels.`
    } else if (unit === 0x5d || unit === 0x7d) {
      depth -= 1
    } else if (unit === COMMA) {
      values += 1
      if (values > most.values) return `The JSON has more than ${most.values} values.`
    }
  }
  return null
}

/** The index of the closing quote, or the end of the text. */
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start)
  while (end !== -1 && isEscaped(text, end, start)) end = text.indexOf('"', end + 1)
  return end === -1 ? text.length : end
}

function isEscaped(text: string, at: number, start: number): boolean {
  let first = at
  while (first > start && text.charCodeAt(first - 1) === BACKSLASH) first -= 1
  return (at - first) % 2 === 1
}

function skipSpace(text: string, start: number): number {
  let index = start
  while (index < text.length && text.charCodeAt(index) <= 0x20) index += 1
  return index
}
