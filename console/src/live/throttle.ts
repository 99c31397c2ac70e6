import { useEffect, useRef } from 'react'

/** Runs it at once, and then at most every so often, the last time after the last call. */
export function useThrottled(run: () => void, everyMs: number): () => void {
  const latest = useRef(run)
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null)
  const isWanted = useRef(false)
  useEffect(() => {
    latest.current = run
  })
  useEffect(
    () => () => {
      if (timer.current !== null) clearTimeout(timer.current)
      timer.current = null
    },
    [],
  )
  const start = () => {
    if (timer.current !== null) {
      isWanted.current = true
      return
    }
    latest.current()
    timer.current = setTimeout(() => {
      timer.current = null
      if (!isWanted.current) return
      isWanted.current = false
      start()
    }, everyMs)
  }
  return start
}
