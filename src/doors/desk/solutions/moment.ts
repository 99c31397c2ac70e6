// A moment that a client wrote: ISO-8601. Without a zone it is UTC, as in the programs that leave it out.

const ISO = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?$/i

/** Null: not a moment. */
export function parseMoment(text: string): Date | null {
  const zone = ISO.exec(text)
  if (zone === null) return null
  const moment = new Date(`${text.replace(' ', 'T')}${zone[1] === undefined ? 'Z' : ''}`)
  return Number.isNaN(moment.getTime()) ? null : moment
}
