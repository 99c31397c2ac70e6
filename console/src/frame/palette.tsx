// Ctrl+K: go to a page, or to what a page's finder finds (a job by its id, a problem, a player).
import { Dialog } from '@base-ui/react/dialog'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useEffectEvent, useState, type KeyboardEvent } from 'react'
import { Icon } from '../parts/icon.tsx'
import type { Found, NavEntry } from '../routes/nav.ts'
import { useNav } from './nav.tsx'

const DELAY_MS = 150

export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const [active, setActive] = useState(0)
  const navigate = useNavigate()
  const found = useFound(text)
  const choose = (one: Found | undefined) => {
    if (one === undefined) return
    onClose()
    void navigate({ to: one.to })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setActive(Math.min(found.length - 1, active + 1))
    else if (event.key === 'ArrowUp') setActive(Math.max(0, active - 1))
    else if (event.key === 'Enter') choose(found[active])
    else return
    event.preventDefault()
  }
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-scrim" />
        <Dialog.Popup className="fixed top-[12vh] left-1/2 z-50 w-[min(560px,calc(100vw-32px))] -translate-x-1/2 overflow-hidden rounded-lg border border-line bg-surface shadow-xl">
          <Dialog.Title className="sr-only">Go to</Dialog.Title>
          <input
            autoFocus
            role="combobox"
            aria-expanded="true"
            aria-controls="palette"
            aria-label="Go to"
            aria-activedescendant={found.length > 0 ? `palette-${active}` : undefined}
            placeholder="A page, a job’s id, a problem, a player"
            value={text}
            onChange={({ currentTarget }) => {
              setText(currentTarget.value)
              setActive(0)
            }}
            onKeyDown={onKeyDown}
            className="w-full border-b border-line bg-surface px-4 py-3 text-lead outline-none placeholder:text-quiet"
          />
          <div id="palette" role="listbox" aria-label="Found" className="max-h-[50vh] overflow-y-auto py-1">
            {found.map((one, index) => (
              <div
                key={one.to}
                id={`palette-${index}`}
                role="option"
                tabIndex={-1}
                aria-selected={index === active}
                onMouseMove={() => setActive(index)}
                onClick={() => choose(one)}
                className={`flex items-center gap-3 px-4 py-2 ${index === active ? 'bg-accent-soft' : ''}`}
              >
                <Icon name={one.icon} className="text-quiet" />
                <span className="flex-1 truncate" dir="auto">
                  {one.label}
                </span>
                <span className="truncate text-small text-quiet">{one.about}</span>
              </div>
            ))}
          </div>
          {found.length === 0 && <p className="px-4 py-6 text-center text-quiet">Nothing by that name.</p>}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function useFound(text: string): readonly Found[] {
  const nav = useNav()
  const wanted = text.trim()
  const pages = nav
    .filter(({ label }) => label.toLowerCase().includes(wanted.toLowerCase()))
    .map(({ to, label, icon }) => ({ to, label, icon, about: 'Page' }))
  const [things, setThings] = useState<readonly Found[]>([])
  const look = useEffectEvent((signal: AbortSignal) => void find(nav, wanted, signal, setThings))
  useEffect(() => {
    const gone = new AbortController()
    const timer = setTimeout(() => look(gone.signal), DELAY_MS)
    return () => {
      gone.abort()
      clearTimeout(timer)
    }
  }, [wanted])
  return [...pages, ...things]
}

async function find(
  nav: readonly NavEntry[],
  wanted: string,
  signal: AbortSignal,
  show: (found: readonly Found[]) => void,
): Promise<void> {
  const finders = wanted === '' ? [] : nav.flatMap((entry) => entry.find ?? [])
  const answers = await Promise.allSettled(finders.map((finder) => finder(wanted)))
  if (!signal.aborted) show(answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : [])))
}
