// JSON whose numbers are kept as they are written. JavaScript rounds an integer beyond 2^53, a fraction of more than 17 digits,
// and what is very close to zero.

interface JsonWithSources {
  parse(text: string, reviver: (key: string, value: unknown, context?: { source?: string }) => unknown): unknown
  rawJSON?(text: string): object
}

const json: JsonWithSources = JSON

/** Doubles hold every decimal number of so many digits. */
const DIGITS_SAFE = 15
/** Doubles closer to zero hold fewer digits, and in the end none. */
const SMALLEST_SAFE = 2.3e-308

/** A number that JavaScript would round. JSON.stringify writes it as it was. */
export class ExactNumber {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  toString(): string {
    return this.text
  }
  toJSON(): unknown {
    return json.rawJSON?.(this.text) ?? Number(this.text)
  }
}

/** As JSON.parse, with numbers that would be rounded as ExactNumber. An engine that does not tell how they were written rounds them. */
export const parseExact = (text: string): unknown =>
  json.parse(text, (_key, value, context) =>
    typeof value === 'number' && context?.source !== undefined && isRounded(value, context.source)
      ? new ExactNumber(context.source)
      : value,
  )

function isRounded(value: number, source: string): boolean {
  if (!Number.isFinite(value)) return true
  const digits = source
    .replace(/[eE].*/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+/, '')
  const isTiny = digits !== '' && Math.abs(value) < SMALLEST_SAFE
  return (digits.length > DIGITS_SAFE || isTiny) && String(value) !== source
}
