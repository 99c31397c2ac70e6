import { Dialog as Base } from '@base-ui/react/dialog'
import type { ReactNode } from 'react'
import { IconButton } from '../controls/button.tsx'

export interface DialogProps {
  isOpen: boolean
  onClose: () => void
  title: string
  description?: ReactNode
  children?: ReactNode
  /** The buttons, the main one last. */
  footer?: ReactNode
  isWide?: boolean
}

/** Holds the focus, closes with Escape, and gives the focus back. On a phone it fills the lower part of the screen. */
export function Dialog({ isOpen, onClose, title, description, children, footer, isWide = false }: DialogProps) {
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-scrim transition-opacity duration-150 data-[starting-style]:opacity-0" />
        <Base.Popup
          className={`fixed z-50 flex max-h-[85dvh] flex-col border border-line bg-surface text-text shadow-xl outline-none max-sm:inset-x-0 max-sm:bottom-0 max-sm:rounded-t-xl sm:top-1/2 sm:left-1/2 sm:w-[calc(100vw-48px)] sm:-translate-x-1/2 sm:-translate-y-1/2 sm:rounded-lg ${isWide ? 'sm:max-w-3xl' : 'sm:max-w-lg'}`}
        >
          <div className="flex items-start gap-3 border-b border-line px-5 py-4">
            <div className="min-w-0 flex-1">
              <Base.Title className="text-lead font-semibold">{title}</Base.Title>
              {description !== undefined && (
                <Base.Description render={<div />} className="mt-1 text-quiet">
                  {description}
                </Base.Description>
              )}
            </div>
            <Base.Close render={<IconButton label="Close" icon="cross" className="-mt-1 -mr-2" />} />
          </div>
          {children !== undefined && <div className="min-h-0 flex-1 overflow-y-auto px-5 py-4">{children}</div>}
          {footer !== undefined && (
            <div className="flex flex-wrap justify-end gap-2 border-t border-line px-5 py-3">{footer}</div>
          )}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}
