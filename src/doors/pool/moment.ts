// Moments on the wire of this door always have six fractional digits and a Z. JavaScript's dates have three: where the
// database's microseconds matter it writes them itself.

/** SQL: a timestamptz as text. */
export const moment = (expression: string): string =>
  `to_char((${expression}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

export const momentOf = (date: Date): string => date.toISOString().replace('Z', '000Z')
