/** The shortest of these times that is a delay. Null: none is. There may be as many as a bulk submit has jobs. */
export function shortestDelay(delays: Iterable<number>): number | null {
  let shortest: number | null = null
  for (const delayMs of delays) if (delayMs > 0 && (shortest === null || delayMs < shortest)) shortest = delayMs
  return shortest
}
