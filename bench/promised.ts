/** One sentence where a figure is worse than promised. */
export const above = (what: string, measured: number, promised: number): string[] =>
  measured <= promised ? [] : [`${what}: ${measured.toFixed(2)}, promised at most ${promised}.`]

export const below = (what: string, measured: number, promised: number): string[] =>
  measured >= promised ? [] : [`${what}: ${measured.toFixed(2)}, promised at least ${promised}.`]
