export interface Spread {
  median: number
  min: number
  max: number
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: percentile(values, 50), min: Math.min(...values), max: Math.max(...values) }
}

/** The nearest rank; the median of an even count is the mean of the middle two. */
export function percentile(values: readonly number[], rank: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (index: number): number => sorted[index] ?? NaN
  const middle = sorted.length / 2
  if (rank === 50 && Number.isInteger(middle)) return (at(middle - 1) + at(middle)) / 2
  return at(Math.max(0, Math.ceil((rank / 100) * sorted.length) - 1))
}
