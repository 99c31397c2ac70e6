import { ReeveError } from '@reeve/sdk'
import { messageOf } from '../../session/errors.ts'
import { Button } from '../controls/button.tsx'
import { Copy } from '../controls/copy.tsx'
import { Icon } from '../icon.tsx'

interface ErrorBoxProps {
  /** What failed: "The jobs could not be loaded". */
  title: string
  error: unknown
  onRetry?: () => void
}

export function ErrorBox({ title, error, onRetry }: ErrorBoxProps) {
  const requestId = error instanceof ReeveError ? error.requestId : null
  return (
    <div role="alert" className="my-4 flex flex-wrap items-start gap-3 rounded-md bg-bad-bg p-4 text-bad-fg">
      <Icon name="warn" className="mt-0.5" />
      <div className="min-w-0 flex-1">
        <p className="font-medium">{title}</p>
        <p>{messageOf(error)}</p>
        {requestId !== null && (
          <p className="mt-1 text-small">
            Request <Copy text={requestId} label="request id" />
          </p>
        )}
      </div>
      {onRetry !== undefined && (
        <Button icon="replay" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}
