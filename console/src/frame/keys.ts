// The keyboard. Parts register keys while they are shown; `?` lists them. A key does nothing while one types, unless it has
// Ctrl or ⌘ in it.
import { useEffect, useEffectEvent, useSyncExternalStore } from 'react'

export interface Key {
  about: string
  run: () => void
  /** A key that is held down counts once. */
  isOncePerPress?: boolean
}

/** `j`, `?`, `mod+k` (Ctrl, or ⌘ on a Mac), `mod+Enter`, `Escape`. */
export type Keys = Readonly<Record<string, Key>>

const shown: Keys[] = []
let listed: readonly (readonly [key: string, about: string])[] = []
const listeners = new Set<() => void>()

function changed(): void {
  const all = new Map(shown.flatMap((keys) => Object.entries(keys)).map(([key, { about }]) => [key, about]))
  listed = [...all]
  listeners.forEach((listener) => listener())
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
  !(target instanceof HTMLInputElement && /^(?:checkbox|radio|button)$/.test(target.type))

function nameOf(event: KeyboardEvent): string {
  const mod = event.ctrlKey || event.metaKey ? 'mod+' : ''
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key
  return `${mod}${key}`
}

if (typeof window !== 'undefined') {
  window.addEventListener('keydown', (event) => {
    const name = nameOf(event)
    if (event.altKey || event.defaultPrevented || (isTyping(event.target) && !name.startsWith('mod+'))) return
    const key = shown.findLast((keys) => Object.hasOwn(keys, name))?.[name]
    if (key === undefined) return
    event.preventDefault()
    if (!(event.repeat && key.isOncePerPress === true)) key.run()
  })
}

/** Keys that work while the part is shown. What was registered last wins. */
export function useKeys(keys: Keys): void {
  const run = useEffectEvent((name: string) => keys[name]?.run())
  const names = Object.entries(keys)
    .map(([name, { about }]) => `${name} ${about}`)
    .join('\n')
  const register = useEffectEvent(() => {
    const own = Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, { ...key, run: () => run(name) }]))
    shown.push(own)
    changed()
    return () => {
      shown.splice(shown.indexOf(own), 1)
      changed()
    }
  })
  useEffect(() => register(), [names])
}

export const useListedKeys = () =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    () => listed,
  )
