// Which rows of a table are chosen: some of those that are loaded, or all that match the filter, loaded or not.
import { useState } from 'react'

export interface TableSelection {
  has(key: string): boolean
  toggle(key: string): void
  setMany(keys: readonly string[], isChosen: boolean): void
  clear(): void
  /** All that match, whatever is loaded. */
  isAll: boolean
  chooseAll(): void
  keys: ReadonlySet<string>
}

export function useSelection(): TableSelection {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  const [isAll, setAll] = useState(false)
  const change = (next: ReadonlySet<string>) => {
    setKeys(next)
    setAll(false)
  }
  return {
    keys,
    isAll,
    has: (key) => isAll || keys.has(key),
    toggle(key) {
      const next = new Set(keys)
      if (!next.delete(key)) next.add(key)
      change(next)
    },
    setMany: (some, isChosen) =>
      change(isChosen ? new Set([...keys, ...some]) : new Set([...keys].filter((key) => !some.includes(key)))),
    clear: () => change(new Set()),
    chooseAll: () => setAll(true),
  }
}
