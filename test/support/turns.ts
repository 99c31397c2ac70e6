/** Counts the turns of the event loop from now on. */
export function countTurns(): { count(): number; stop(): void } {
  let turns = 0
  let isOver = false
  const turn = () => {
    turns += 1
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  return { count: () => turns, stop: () => void (isOver = true) }
}
