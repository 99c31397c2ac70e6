// Draws the notices of notify.ts.
import { Toast } from '@base-ui/react/toast'
import { useEffect } from 'react'
import { IconButton } from '../controls/button.tsx'
import { showNoticesWith, type Notice } from './notify.ts'
import { TONE_CLASS, type Tone } from '../data/state-badge.tsx'

const SHORT_MS = 5000
const LONG_MS = 10_000

const manager = Toast.createToastManager<{ tone: Tone }>()

function add({ title, detail, tone = 'good', action }: Notice): void {
  manager.add({
    title,
    ...(detail === undefined ? {} : { description: detail }),
    data: { tone },
    priority: tone === 'bad' ? 'high' : 'low',
    timeout: tone === 'bad' || action !== undefined ? LONG_MS : SHORT_MS,
    ...(action === undefined ? {} : { actionProps: { children: action.label, onClick: action.run } }),
  })
}

export function Toasts() {
  useEffect(() => showNoticesWith(add), [])
  return (
    <Toast.Provider toastManager={manager} limit={3}>
      <Toast.Portal>
        <Toast.Viewport className="fixed right-4 bottom-4 z-50 flex w-80 max-w-[calc(100vw-32px)] flex-col gap-2 max-sm:bottom-20">
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}

function List() {
  const { toasts } = Toast.useToastManager<{ tone: Tone }>()
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className={`rounded-md shadow-lg transition-opacity duration-150 data-[ending-style]:opacity-0 data-[starting-style]:opacity-0 ${TONE_CLASS[toast.data?.tone ?? 'good']}`}
    >
      <Toast.Content className="flex items-start gap-2 p-3">
        <div className="min-w-0 flex-1">
          <Toast.Title className="font-medium" />
          <Toast.Description className="text-small" />
        </div>
        <Toast.Action className="rounded-sm font-medium underline underline-offset-4 empty:hidden" />
        <Toast.Close render={<IconButton label="Close" icon="cross" className="-my-1.5 -mr-1.5 text-current" />} />
      </Toast.Content>
    </Toast.Root>
  ))
}
