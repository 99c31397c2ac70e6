// One line of words (words.ts), completed as one types. The page keeps it in the URL.
import { Autocomplete } from '@base-ui/react/autocomplete'
import { useEffect, useRef, useState } from 'react'
import { useKeys } from '../../frame/keys.ts'
import { inputClass } from './form.tsx'
import { Icon } from '../icon.tsx'

const DELAY_MS = 250
const SHOWN_MAX = 8

export interface SearchWord {
  name: string
  about: string
  /** What may come after the colon. */
  values?: readonly string[]
}

interface SearchProps {
  label: string
  value: string
  onChange: (value: string) => void
  words: readonly SearchWord[]
  placeholder?: string
}

interface Completion {
  /** The whole line once it is chosen. */
  value: string
  label: string
  about: string
}

export function Search({ label, value, onChange, words, placeholder }: SearchProps) {
  const [typed, setTyped] = useState(value)
  const [shown, setShown] = useState(value)
  const [isOpen, setOpen] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  if (shown !== value) {
    setShown(value)
    if (typed.trim() !== value) setTyped(value)
  }
  useEffect(() => {
    if (typed.trim() === value) return undefined
    const timer = setTimeout(() => onChange(typed.trim()), DELAY_MS)
    return () => clearTimeout(timer)
  }, [typed, value, onChange])
  useKeys({ '/': { about: 'Search', run: () => input.current?.focus() } })
  const completions = completionsOf(typed, words)

  return (
    <Autocomplete.Root
      items={completions}
      open={isOpen && completions.length > 0} // an open list hides the rest of the page from screen readers
      onOpenChange={(open) => setOpen(open)}
      value={typed}
      onValueChange={(next, { reason }) => reason !== 'escape-key' && setTyped(next)} // Esc closes the list, and no more
      mode="none"
      itemToStringValue={({ value: line }: Completion) => line}
      autoHighlight={false}
      openOnInputClick
    >
      <div className="relative flex-1">
        <Icon name="search" className="pointer-events-none absolute top-1/2 left-3 -translate-y-1/2 text-quiet" />
        <Autocomplete.Input
          ref={input}
          aria-label={label}
          placeholder={placeholder ?? words.map(({ name }) => `${name}:`).join(' ')}
          spellCheck={false}
          autoComplete="off"
          className={`${inputClass} pl-9 font-mono text-[13px]`}
          onKeyDown={(event) => event.key === 'Enter' && onChange(typed.trim())}
          onBlur={() => typed.trim() !== value && onChange(typed.trim())} // before what is clicked next acts on the page
        />
      </div>
      <Autocomplete.Portal>
        <Autocomplete.Positioner sideOffset={4} className="z-50 outline-none">
          <Autocomplete.Popup className="w-(--anchor-width) max-w-xl rounded-md border border-line bg-surface py-1 shadow-lg empty:hidden">
            <Autocomplete.List>
              {(completion: Completion) => (
                <Autocomplete.Item
                  key={completion.value}
                  value={completion}
                  className="flex items-baseline gap-3 px-3 py-1 data-[highlighted]:bg-accent-soft"
                >
                  <span className="font-mono text-[13px]">{completion.label}</span>
                  <span className="truncate text-small text-quiet">{completion.about}</span>
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Popup>
        </Autocomplete.Positioner>
      </Autocomplete.Portal>
    </Autocomplete.Root>
  )
}

function completionsOf(typed: string, words: readonly SearchWord[]): Completion[] {
  const [, before = '', last = ''] = /^(.*?)(\S*)$/s.exec(typed) ?? []
  const [name = '', start] = last.split(':', 2)
  const word = words.find((one) => one.name === name)
  if (start === undefined) {
    return words
      .filter((one) => one.name.startsWith(last) && !before.includes(`${one.name}:`))
      .map((one) => ({ value: `${before}${one.name}:`, label: `${one.name}:`, about: one.about }))
  }
  return (word?.values ?? [])
    .filter((value) => value.toLowerCase().includes(start.toLowerCase()) && value !== start)
    .slice(0, SHOWN_MAX)
    .map((value) => ({ value: `${before}${name}:${value} `, label: `${name}:${value}`, about: '' }))
}
