// Short notices of what has happened, with the way back where there is one. What shows them (toast.tsx) is loaded with the first.
import { useSyncExternalStore } from 'react'
import type { Tone } from '../data/state-badge.tsx'

export interface Notice {
  title: string
  detail?: string
  tone?: Tone
  /** "Undo", and what it does. */
  action?: { label: string; run: () => void }
}

let waiting: Notice[] = []
let show: ((notice: Notice) => void) | null = null
let isWanted = false
const listeners = new Set<() => void>()

export function notify(notice: Notice): void {
  if (show !== null) {
    show(notice)
    return
  }
  waiting.push(notice)
  isWanted = true
  listeners.forEach((listener) => listener())
}

export function showNoticesWith(shower: (notice: Notice) => void): void {
  show = shower
  const late = waiting
  waiting = []
  late.forEach(shower)
}

export const useHasToasts = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    () => isWanted,
  )
