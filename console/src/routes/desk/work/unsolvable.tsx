// Why a task cannot be solved: a code that can be counted, and a sentence for who asked.
import { useState } from 'react'
import { useKeys } from '../../../frame/keys.ts'
import { Button } from '../../../parts/controls/button.tsx'
import { Dialog } from '../../../parts/feedback/dialog.tsx'
import { inputClass } from '../../../parts/controls/form.tsx'
import { messageOf } from '../../../session/errors.ts'

const REASONS: readonly (readonly [code: string, label: string])[] = [
  ['page_down', 'The page does not load'],
  ['nothing_to_solve', 'There is nothing to solve'],
  ['never_ends', 'The challenge never ends'],
  ['address_blocked', 'The site refuses this address'],
  ['needs_account', 'The site asks for an account'],
  ['other', 'Something else'],
]

interface UnsolvableProps {
  isOpen: boolean
  onClose(): void
  /** Marks it and goes on to the next task. Throws what the server refused. */
  onMark(reason: string): Promise<void>
}

export function Unsolvable({ isOpen, onClose, onMark }: UnsolvableProps) {
  const [note, setNote] = useState('')
  const [error, setError] = useState<unknown>(null)
  const mark = async ([code, label]: readonly [string, string]) => {
    setError(null)
    try {
      await onMark(`${code}: ${note.trim() === '' ? label : note.trim()}`)
      setNote('')
      onClose()
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title="Why can it not be solved?">
      {isOpen && <Digits onDigit={(index) => REASONS[index] !== undefined && void mark(REASONS[index])} />}
      <div className="flex flex-col gap-2">
        {REASONS.map((reason, index) => (
          <Button key={reason[0]} className="justify-start" onClick={() => void mark(reason)}>
            <kbd className="w-5 font-mono text-small text-quiet">{index + 1}</kbd> {reason[1]}
          </Button>
        ))}
        <label className="mt-2 flex flex-col gap-1">
          <span className="font-medium">In your own words</span>
          <input
            className={inputClass}
            maxLength={1000}
            value={note}
            onChange={({ currentTarget }) => setNote(currentTarget.value)}
          />
          <span className="text-small text-quiet">Written first, it is sent with the reason that you choose.</span>
        </label>
        {error !== null && (
          <p role="alert" className="text-bad-fg">
            {messageOf(error)}
          </p>
        )}
      </div>
    </Dialog>
  )
}

function Digits({ onDigit }: { onDigit(index: number): void }) {
  useKeys(
    Object.fromEntries(
      REASONS.map(([, label], index) => [String(index + 1), { about: label, run: () => onDigit(index) }]),
    ),
  )
  return null
}
