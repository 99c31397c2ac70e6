import { useState, type ReactNode } from 'react'
import { messageOf } from '../../session/errors.ts'
import { Button } from '../controls/button.tsx'
import { Dialog } from './dialog.tsx'

export interface ConfirmProps {
  isOpen: boolean
  onClose: () => void
  /** A question that names what will happen, and to how many: "Cancel 312 jobs?" */
  title: string
  children?: ReactNode
  /** The word on the button: "Cancel 312 jobs". */
  action: string
  isDangerous?: boolean
  onConfirm: () => Promise<unknown>
}

/** Asks before something that cannot be undone. It stays open while it is done, and says what went wrong. */
export function Confirm({ isOpen, onClose, title, children, action, isDangerous = false, onConfirm }: ConfirmProps) {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const close = () => {
    setError(null)
    onClose()
  }
  const confirm = async () => {
    setBusy(true)
    setError(null)
    try {
      await onConfirm()
      close()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog
      isOpen={isOpen}
      onClose={close}
      title={title}
      footer={
        <>
          <Button onClick={close}>Keep as it is</Button>
          <Button look={isDangerous ? 'danger' : 'main'} isBusy={isBusy} onClick={() => void confirm()}>
            {action}
          </Button>
        </>
      }
    >
      {children}
      {error !== null && (
        <p role="alert" className="mt-3 text-bad-fg">
          {messageOf(error)}
        </p>
      )}
    </Dialog>
  )
}
