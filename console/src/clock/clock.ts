// One clock for everything that shows a time: it ticks once a second while something shows one.
import { useSyncExternalStore } from 'react'

const EVERY_MS = 1000
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
let now = Date.now()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  if (timer === undefined) {
    now = Date.now()
    timer = setInterval(() => {
      now = Date.now()
      listeners.forEach((one) => one())
    }, EVERY_MS)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** Milliseconds since 1970, to the second. */
export const useNow = (): number => useSyncExternalStore(subscribe, () => now)
