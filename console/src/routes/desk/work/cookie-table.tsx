import type { ClipboardEvent } from 'react'
import { Button, IconButton } from '../../../parts/controls/button.tsx'
import { parseCookies, withCookies, type CookieRow } from './draft.ts'

const INPUT = 'w-full min-w-0 rounded-sm bg-transparent px-1.5 py-1 font-mono text-[13px] focus:bg-raised'

interface CookieTableProps {
  rows: readonly CookieRow[]
  onChange(rows: readonly CookieRow[]): void
}

/** Cookies, one a row. What is pasted as `name=value; …` or as JSON becomes rows. */
export function CookieTable({ rows, onChange }: CookieTableProps) {
  const shown = rows.length === 0 ? [{ key: 0, name: '', value: '' }] : rows
  const set = (key: number, part: Partial<CookieRow>) =>
    onChange(shown.map((row) => (row.key === key ? { ...row, ...part } : row)))
  const paste = (event: ClipboardEvent) => {
    const text = event.clipboardData.getData('text')
    const cookies = /[=[]/.test(text) ? parseCookies(text) : null
    if (cookies === null) return
    event.preventDefault()
    onChange(withCookies(rows, cookies))
  }
  return (
    <div>
      <table className="w-full table-fixed border-collapse" aria-label="Cookies">
        <thead className="text-left text-small text-quiet">
          <tr>
            <th className="w-[34%] px-1.5 font-normal">Name</th>
            <th className="px-1.5 font-normal">Value</th>
            <th className="w-9">
              <span className="sr-only">Remove</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((row, index) => (
            <Row
              key={row.key}
              row={row}
              label={`cookie ${index + 1}`}
              onPaste={paste}
              onChange={(part) => set(row.key, part)}
              onRemove={() => onChange(shown.filter(({ key }) => key !== row.key))}
            />
          ))}
        </tbody>
      </table>
      <Button
        look="bare"
        icon="plus"
        onClick={() =>
          onChange([...shown, { key: Math.max(0, ...shown.map(({ key }) => key)) + 1, name: '', value: '' }])
        }
      >
        Add a cookie
      </Button>
    </div>
  )
}

interface RowProps {
  row: CookieRow
  label: string
  onPaste(event: ClipboardEvent): void
  onChange(part: Partial<CookieRow>): void
  onRemove(): void
}

function Row({ row, label, onPaste, onChange, onRemove }: RowProps) {
  const shared = { className: INPUT, spellCheck: false, autoComplete: 'off' }
  return (
    <tr className="border-t border-line align-top">
      <td>
        <input
          {...shared}
          aria-label={`Name of ${label}`}
          value={row.name}
          onPaste={onPaste}
          onChange={({ currentTarget: { value } }) => onChange({ name: value })}
        />
      </td>
      <td>
        <input
          {...shared}
          aria-label={`Value of ${label}`}
          value={row.value}
          onChange={({ currentTarget: { value } }) => onChange({ value })}
        />
        <span className="block truncate px-1.5 text-small text-quiet">{aboutOf(row)}</span>
      </td>
      <td>
        <IconButton icon="cross" label={`Remove ${label}`} onClick={onRemove} />
      </td>
    </tr>
  )
}

function aboutOf({ domain, path, expires_at: expires, http_only: isHttpOnly, secure }: CookieRow): string {
  const parts = [
    domain,
    path === '/' ? undefined : path,
    expires === undefined ? undefined : `until ${expires.slice(0, 16).replace('T', ' ')}`,
    isHttpOnly === true ? 'HttpOnly' : undefined,
    secure === true ? 'Secure' : undefined,
  ]
  return parts.filter((part) => part !== undefined && part !== '').join(' · ')
}
