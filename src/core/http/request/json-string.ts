// Reads a string of JSON text without decoding it. It may be megabytes long, so the reader can pause in it.

const QUOTE = 0x22
const BACKSLASH = 0x5c
const LETTER_U = 0x75
const ESCAPE_CHARS = 6 // of \uXXXX
const HIGH_SURROGATE = 0xd800
const LOW_SURROGATE = 0xdc00

/** The index of the quote that closes the string, if it is before `until` and no escape stands in the way. Otherwise null. */
export function quickEnd(text: string, start: number, until: number): number | null {
  const end = text.indexOf('"', start)
  return end === -1 || end >= until || text.charCodeAt(end - 1) === BACKSLASH ? null : end
}

/**
 * Reads up to the closing quote, or to the first place at or after `until` where the string can be cut: neither in an escape nor
 * between the halves of a surrogate pair.
 */
export function readString(text: string, from: number, until: number): { index: number; isClosed: boolean } {
  let index = from
  const ahead = text.slice(from, until)
  if (!ahead.includes('\\')) {
    const end = ahead.indexOf('"')
    if (end !== -1) return { index: from + end, isClosed: true }
    index = from + Math.max(0, ahead.length - 1)
  }
  while (index < text.length) {
    const unit = text.charCodeAt(index)
    if (unit === QUOTE) return { index, isClosed: true }
    const before = index
    index += unit !== BACKSLASH ? 1 : text.charCodeAt(index + 1) === LETTER_U ? ESCAPE_CHARS : 2
    if (index >= until && !isPair(unitAt(text, before), unitAt(text, index))) break
  }
  return { index: Math.min(index, text.length), isClosed: false }
}

/** Of a character, or of the escape that begins there. */
function unitAt(text: string, index: number): number {
  const isEscape = text.charCodeAt(index) === BACKSLASH && text.charCodeAt(index + 1) === LETTER_U
  return isEscape ? Number.parseInt(text.slice(index + 2, index + ESCAPE_CHARS), 16) : text.charCodeAt(index)
}

const isPair = (unit: number, next: number): boolean =>
  (unit & 0xfc00) === HIGH_SURROGATE && (next & 0xfc00) === LOW_SURROGATE
