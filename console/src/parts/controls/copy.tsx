import { useEffect, useState } from 'react'
import { Icon } from '../icon.tsx'
import { isolated } from '../text/isolated.ts'

const SHOWN_MS = 1500

interface CopyProps {
  /** What is copied. */
  text: string
  /** What is shown in its place; default: the text. */
  shown?: string
  /** What it is: read out as "Copy job id". */
  label: string
}

/** Text that is copied on click, such as an id. */
export function Copy({ text, shown = text, label }: CopyProps) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return undefined
    const timer = setTimeout(() => setCopied(false), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [isCopied])

  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
  }
  return (
    <button
      type="button"
      onClick={(event) => {
        event.stopPropagation()
        void copy()
      }}
      title={text === shown ? `Copy ${label}` : text}
      aria-label={`Copy ${label} ${isolated(shown)}`}
      className="group/copy inline-flex max-w-full items-center gap-1 rounded-sm font-mono text-[13px] hover:text-accent"
    >
      <bdi className="truncate">{shown}</bdi>
      <Icon name={isCopied ? 'check' : 'copy'} className={`size-3 ${isCopied ? 'text-good-fg' : 'text-quiet'}`} />
      <span role="status" className="sr-only">
        {isCopied ? 'Copied' : ''}
      </span>
    </button>
  )
}

/** The end of an id: ids begin with their time, so that those of one minute begin alike. */
export const shortId = (id: string): string => (id.length > 12 ? `…${id.slice(-8)}` : id)
