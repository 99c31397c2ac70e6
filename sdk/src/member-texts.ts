// The members of a JSON object or array as text: what is hashed or passed on must not go through
// JavaScript's numbers. The text must be valid JSON; JSON.parse checks that before.

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
/** Turns [ and ] into { and }. */
const BRACE_BIT = 0x20
const OPEN = 0x7b
const CLOSE = 0x7d
const TURN_CHARS = 256 * 1024

type Pause = () => Promise<unknown>

/** Of a name that comes twice, the last. */
export const memberTexts = (text: string): Map<string, string> => atOnce(scanMembers(text))

/** The same for a long text: `pause` is awaited from time to time, so that others get their turn. */
export const memberTextsInTurns = (text: string, pause: Pause): Promise<Map<string, string>> =>
  inTurns(scanMembers(text), pause)

/** The items of a JSON array. */
export const itemTexts = (text: string): string[] => atOnce(scanItems(text))

export const itemTextsInTurns = (text: string, pause: Pause): Promise<string[]> => inTurns(scanItems(text), pause)

function atOnce<Found>(scan: Generator<void, Found>): Found {
  for (;;) {
    const step = scan.next()
    if (step.done === true) return step.value
  }
}

async function inTurns<Found>(scan: Generator<void, Found>, pause: Pause): Promise<Found> {
  for (;;) {
    const step = scan.next()
    if (step.done === true) return step.value
    await pause()
  }
}

function* scanMembers(text: string): Generator<void, Map<string, string>> {
  let pauseAt = TURN_CHARS
  const members = new Map<string, string>()
  let depth = 0
  let key: string | null = null
  let start = -1 // of the value that is being passed over

  const end = (at: number) => {
    if (key !== null && start !== -1) members.set(key, text.slice(start, at).trim())
    key = null
    start = -1
  }
  for (let at = 0; at < text.length; at += 1) {
    if (at >= pauseAt) {
      pauseAt = at + TURN_CHARS
      yield
    }
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) {
      const close = endOfString(text, at)
      if (depth === 1 && key === null) key = JSON.parse(text.slice(at, close + 1))
      at = close
    } else if ((unit | BRACE_BIT) === OPEN) {
      depth += 1
    } else if ((unit | BRACE_BIT) === CLOSE) {
      if (depth === 1) end(at)
      depth -= 1
    } else if (depth > 1) {
      continue // nearly all of a long text
    } else if (unit === COMMA) {
      end(at)
    } else if (unit === COLON && start === -1) {
      start = at + 1
    }
  }
  return members
}

function* scanItems(text: string): Generator<void, string[]> {
  let pauseAt = TURN_CHARS
  const items: string[] = []
  let depth = 0
  let start = 0
  const end = (at: number) => {
    const item = text.slice(start, at).trim()
    if (item !== '') items.push(item)
    start = at + 1
  }
  for (let at = 0; at < text.length; at += 1) {
    if (at >= pauseAt) {
      pauseAt = at + TURN_CHARS
      yield
    }
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) {
      at = endOfString(text, at)
    } else if ((unit | BRACE_BIT) === OPEN) {
      depth += 1
      if (depth === 1) start = at + 1
    } else if ((unit | BRACE_BIT) === CLOSE) {
      if (depth === 1) end(at)
      depth -= 1
    } else if (unit === COMMA && depth === 1) {
      end(at)
    }
  }
  return items
}

/** Where the closing quote is. */
function endOfString(text: string, open: number): number {
  const quote = text.indexOf('"', open + 1)
  if (quote === -1) return text.length
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote
  for (let at = open + 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (unit === QUOTE) return at
    if (unit === BACKSLASH) at += 1
  }
  return text.length
}
