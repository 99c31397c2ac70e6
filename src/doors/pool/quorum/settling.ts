// One settling at a time for each quorum. Whoever comes while one runs needs a new one, which may read what came meanwhile; whoever
// comes while that one waits shares it.

export interface SettlingRuns {
  run(quorumId: string): Promise<void>
  /** Resolves when none runs or waits. */
  close(): Promise<void>
}

export function openSettling(settle: (quorumId: string) => Promise<void>): SettlingRuns {
  const running = new Map<string, Promise<void>>()
  const next = new Map<string, Promise<void>>()

  const begin = (quorumId: string): Promise<void> => {
    const run = settle(quorumId).finally(() => running.delete(quorumId))
    running.set(quorumId, run)
    return run
  }
  return {
    run(quorumId) {
      const waiting = next.get(quorumId)
      if (waiting !== undefined) return waiting
      const before = running.get(quorumId)
      if (before === undefined) return begin(quorumId)
      const after = () => {
        next.delete(quorumId)
        return begin(quorumId)
      }
      const mine = before.then(after, after)
      next.set(quorumId, mine)
      return mine
    },
    async close() {
      // Between two runs of a quorum none runs and one waits.
      while (running.size + next.size > 0) await Promise.allSettled([...running.values(), ...next.values()])
    },
  }
}
