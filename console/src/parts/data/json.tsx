// JSON as people read it: folded below the third level, searched, with what looks like a secret masked until it is asked for.
import { ExactNumber } from '@reeve/sdk'
import { useState, type ReactNode } from 'react'
import { Copy } from '../controls/copy.tsx'
import { inputClass } from '../controls/form.tsx'
import { isolated } from '../text/isolated.ts'

const SECRET = /passw|token|secret|authorization|cookie|api_?key|signature|private|credential|^(?:code|proxy_url)$/i
const OPEN_DEPTH = 3
const CHILDREN_MAX = 200
const SEARCHABLE_CHARS = 400

/** `label` names it to a screen reader: "Payload". */
export function Json({ value, label }: { value: unknown; label: string }) {
  const [wanted, setWanted] = useState('')
  const text = JSON.stringify(value, null, 2) ?? 'null'
  return (
    <div className="rounded-md border border-line bg-raised">
      <div className="flex items-center gap-2 border-b border-line px-3 py-1.5">
        <span className="flex-1 text-small font-medium text-quiet">{label}</span>
        {text.length > SEARCHABLE_CHARS && (
          <input
            type="search"
            aria-label={`Find in ${label}`}
            placeholder="Find"
            value={wanted}
            onChange={({ currentTarget }) => setWanted(currentTarget.value)}
            className={`${inputClass} max-w-40`}
          />
        )}
        <Copy text={text} shown="copy" label={label} />
      </div>
      <div className="max-h-96 overflow-auto p-3 font-mono text-[13px]" tabIndex={0} role="region" aria-label={label}>
        <Value value={value} depth={0} wanted={wanted.toLowerCase()} />
      </div>
    </div>
  )
}

interface ValueProps {
  value: unknown
  depth: number
  wanted: string
}

function Value({ value, depth, wanted }: ValueProps): ReactNode {
  if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return <Scalar value={value} wanted={wanted} />
  const entries = Object.entries(value)
  const isList = Array.isArray(value)
  if (entries.length === 0) return isList ? '[]' : '{}'
  const isFound = wanted !== '' && JSON.stringify(value).toLowerCase().includes(wanted)
  return (
    <details open={depth < OPEN_DEPTH || isFound}>
      <summary className="text-quiet">{isList ? `[ ${entries.length} ]` : `{ ${entries.length} }`}</summary>
      <ul className="border-l border-line pl-4">
        {entries.slice(0, CHILDREN_MAX).map(([key, child]) => (
          <li key={key} className="flex flex-wrap gap-x-2">
            <span className="text-quiet">
              <bdi>
                <Marked text={key} wanted={wanted} />
              </bdi>
              :
            </span>
            <div className="min-w-0">
              {SECRET.test(key) && child !== null && !isList ? (
                <Masked name={key}>
                  <Value value={child} depth={depth + 1} wanted={wanted} />
                </Masked>
              ) : (
                <Value value={child} depth={depth + 1} wanted={wanted} />
              )}
            </div>
          </li>
        ))}
        {entries.length > CHILDREN_MAX && (
          <li className="text-quiet">{entries.length - CHILDREN_MAX} more; copy to see them</li>
        )}
      </ul>
    </details>
  )
}

function Scalar({ value, wanted }: { value: unknown; wanted: string }) {
  const text = String(value)
  const colour = typeof value === 'string' ? 'text-text' : 'text-active-fg'
  return (
    <span className={`${colour} break-all whitespace-pre-wrap`} dir="auto">
      <Marked text={text} wanted={wanted} />
    </span>
  )
}

function Marked({ text, wanted }: { text: string; wanted: string }) {
  const at = wanted === '' ? -1 : text.toLowerCase().indexOf(wanted)
  if (at < 0) return text
  return (
    <>
      {text.slice(0, at)}
      <mark className="bg-warn-bg text-warn-fg">{text.slice(at, at + wanted.length)}</mark>
      {text.slice(at + wanted.length)}
    </>
  )
}

function Masked({ name, children }: { name: string; children: ReactNode }) {
  const [isShown, setShown] = useState(false)
  if (isShown) return children
  return (
    <button
      type="button"
      className="text-quiet hover:text-text"
      onClick={() => setShown(true)}
      aria-label={`Show ${isolated(name)}`}
    >
      ••••••••
    </button>
  )
}
