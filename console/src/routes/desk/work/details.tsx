// What the program reported, and what can be copied.
import type { DeskCookie, DeskTask } from '@reeve/sdk'
import type { ReactNode } from 'react'
import { Button } from '../../../parts/controls/button.tsx'
import { Copy, shortId } from '../../../parts/controls/copy.tsx'
import { notify } from '../../../parts/feedback/notify.ts'
import { Time } from '../../../parts/data/time.tsx'
import { cookieHeader } from './draft.ts'

interface DetailsProps {
  task: DeskTask
  cookies: readonly DeskCookie[]
  isOpen: boolean
  onPreview: (() => void) | undefined
}

export function Details({ task, cookies, isOpen, onPreview }: DetailsProps) {
  const hasMore = Object.keys(task.metadata).length > 0
  return (
    <details open={isOpen} className="shrink-0">
      <summary className="text-quiet">What the program reported</summary>
      <dl className="mt-2 grid max-h-[40dvh] grid-cols-[max-content_minmax(0,1fr)] gap-x-4 gap-y-1 overflow-y-auto">
        <Line name="Address">
          <span className="break-all" dir="auto">
            {task.url}
          </span>
        </Line>
        <Line name="Kind">{task.challenge_type}</Line>
        <Line name="It met">{task.error_message}</Line>
        <Line name="Last trouble">{task.last_error === task.error_message ? null : task.last_error}</Line>
        <Line name="Request">{task.request_id}</Line>
        <Line name="User agent">{task.user_agent}</Line>
        <Line name="Proxy">{task.proxy_url}</Line>
        <Line name="Came">
          <Time at={task.created_at} />
        </Line>
        <Line name="Task">
          <Copy text={task.uuid} shown={shortId(task.uuid)} label="task id" />
        </Line>
        {hasMore && (
          <Line name="Further">
            <pre className="font-mono text-[13px] whitespace-pre-wrap">{JSON.stringify(task.metadata, null, 2)}</pre>
          </Line>
        )}
      </dl>
      <div className="mt-2 flex flex-wrap gap-2">
        <CopyButton name="address" text={task.url} />
        <CopyButton name="headers" text={headersOf(task, cookies)} />
        <CopyButton name="cookies" text={cookieHeader(cookies.filter(({ name }) => name !== ''))} />
        <CopyButton name="link to this task" text={`${location.origin}/console/desk?task=${task.uuid}`} />
        {onPreview !== undefined && (
          <Button look="bare" icon="eye" onClick={onPreview}>
            What the program saw
          </Button>
        )}
      </div>
    </details>
  )
}

function Line({ name, children }: { name: string; children: ReactNode }) {
  if (children === null || children === undefined || children === '') return null
  return (
    <>
      <dt className="text-quiet">{name}</dt>
      <dd className="min-w-0" dir="auto">
        {children}
      </dd>
    </>
  )
}

function CopyButton({ name, text }: { name: string; text: string }) {
  if (text === '') return null
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    notify({ title: `Copied the ${name}` })
  }
  return (
    <Button look="bare" icon="copy" onClick={() => void copy()}>
      Copy {name}
    </Button>
  )
}

function headersOf({ user_agent: agent }: DeskTask, cookies: readonly DeskCookie[]): string {
  const cookie = cookieHeader(cookies.filter(({ name }) => name !== ''))
  return [...(agent === null ? [] : [`User-Agent: ${agent}`]), ...(cookie === '' ? [] : [`Cookie: ${cookie}`])].join(
    '\n',
  )
}
