import { Dialog } from '../parts/feedback/dialog.tsx'
import { useListedKeys } from './keys.ts'

const FIXED: readonly (readonly [string, string])[] = [
  ['↑ ↓ or k j', 'Move in a list'],
  ['Enter', 'Open the row'],
  ['Space or x', 'Choose the row'],
]

const isMac = () => navigator.userAgent.includes('Mac')

/** The `?` sheet. */
export function KeysSheet({ onClose }: { onClose: () => void }) {
  const keys = useListedKeys()
  return (
    <Dialog isOpen onClose={onClose} title="Keys">
      <dl className="grid grid-cols-[max-content_1fr] items-center gap-x-6 gap-y-2">
        {[...keys, ...FIXED].map(([key, about]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="rounded-sm border border-line bg-raised px-1.5 py-0.5 font-mono text-small">
                {key.replace('mod+', isMac() ? '⌘ ' : 'Ctrl ')}
              </kbd>
            </dt>
            <dd>{about}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
