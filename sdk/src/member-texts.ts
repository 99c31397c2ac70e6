// The members of a JSON object or array as text: what is hashed or passed on must not go through
// JavaScript's numbers. The text must be valid JSON; JSON.parse checks that before.

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Of a name that comes twice, the last. */
export function memberTexts(text: string): Map<string, string> {
  const members = new Map<string, string>()
  let depth = 0
  let key: string | null = null
  let start = -1 // of the value that is being passed over

  const end = (at: number) => {
    if (depth === 1 && key !== null && start !== -1) members.set(key, text.slice(start, at).trim())
    if (depth === 1) [key, start] = [null, -1]
  }
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) {
      const close = endOfString(text, at)
      if (depth === 1 && key === null) key = JSON.parse(text.slice(at, close + 1))
      at = close
    } else if (unit === 0x7b || unit === 0x5b) {
      depth += 1
    } else if (unit === 0x7d || unit === 0x5d) {
      end(at)
      depth -= 1
    } else if (unit === 0x2c) {
      end(at)
    } else if (unit === 0x3a && depth === 1 && start === -1) {
      start = at + 1
    }
  }
  return members
}

/** The items of a JSON array. */
export function itemTexts(text: string): string[] {
  const items: string[] = []
  let depth = 0
  let start = 0
  const end = (at: number) => {
    const item = text.slice(start, at).trim()
    if (depth === 1 && item !== '') items.push(item)
    if (depth === 1) start = at + 1
  }
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) {
      at = endOfString(text, at)
    } else if (unit === 0x7b || unit === 0x5b) {
      depth += 1
      if (depth === 1) start = at + 1
    } else if (unit === 0x7d || unit === 0x5d) {
      end(at)
      depth -= 1
    } else if (unit === 0x2c) {
      end(at)
    }
  }
  return items
}

/** Where the closing quote is. */
function endOfString(text: string, open: number): number {
  let at = open + 1
  while (at < text.length) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) return at
    at += unit === BACKSLASH ? 2 : 1
  }
  return text.length
}
