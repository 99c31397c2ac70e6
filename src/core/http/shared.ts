import { setTimeout as sleep } from 'node:timers/promises'

const IDLE_SHARE = 9 // times the cost of the last computation

/**
 * For an expensive answer that anyone may ask for. Callers that wait share one computation, which begins after they asked;
 * between two computations passes nine times the duration of the first, so that they take at most a tenth of the time.
 */
export function shared<T>(compute: () => Promise<T>): () => Promise<T> {
  let next: Promise<T> | null = null
  let running: Promise<unknown> = Promise.resolve()
  let idleUntilMs = 0

  const computeNext = async (before: Promise<unknown>): Promise<T> => {
    await before.catch(() => {})
    const idleMs = idleUntilMs - performance.now()
    if (idleMs > 0) await sleep(idleMs)
    next = null
    const startedMs = performance.now()
    try {
      return await compute()
    } finally {
      const endedMs = performance.now()
      idleUntilMs = endedMs + IDLE_SHARE * (endedMs - startedMs)
    }
  }

  return () => {
    if (next === null) {
      next = computeNext(running)
      running = next
    }
    return next
  }
}
