import { useSyncExternalStore } from 'react'

export interface Crumb {
  label: string
  /** A path of the console. */
  to?: string
}

let crumbs: readonly Crumb[] = []
const listeners = new Set<() => void>()

export function setCrumbs(next: readonly Crumb[]): void {
  crumbs = next
  listeners.forEach((listener) => listener())
}

export const useCrumbs = (): readonly Crumb[] =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    () => crumbs,
  )
