// The accounts of a class or a team, from a spreadsheet saved as CSV. What was made is told row by row.
import type { ImportedAccount } from '@reeve/sdk'
import { useState } from 'react'
import { plural } from '../../../clock/format.ts'
import { Button } from '../../../parts/controls/button.tsx'
import { Copy } from '../../../parts/controls/copy.tsx'
import { Dialog } from '../../../parts/feedback/dialog.tsx'
import { Area, Form, type FormValues } from '../../../parts/controls/form.tsx'
import { StateBadge, type Stated } from '../../../parts/data/state-badge.tsx'
import { client } from '../../../session/client.ts'
import { isolated } from '../../../parts/text/isolated.ts'

const EXAMPLE = `username,password,roles
ann,,OPERATOR
bob,a long password,CLIENT WORKER_OWNER`

const STATES: Readonly<Record<ImportedAccount['status'], Stated>> = {
  created: { tone: 'good', word: 'Created' },
  exists: { tone: 'quiet', word: 'There already' },
  refused: { tone: 'bad', word: 'Refused' },
}

interface ImportAccountsProps {
  onClose: () => void
  onImported: () => void
}

export function ImportAccounts({ onClose, onImported }: ImportAccountsProps) {
  const [rows, setRows] = useState<readonly ImportedAccount[] | null>(null)
  const [csv, setCsv] = useState('')
  const submit = async (values: FormValues) => {
    setRows(await client.admin.importAccounts(values.text('csv')))
    onImported()
  }
  return (
    <Dialog
      isOpen
      isWide
      onClose={onClose}
      title="Import accounts"
      description="CSV with the columns username, password and roles. An account without a password gets a link by which its owner sets one."
    >
      {rows === null ? (
        <Form
          action="Import"
          onSubmit={submit}
          aside={
            <label className="text-quiet">
              or choose a file:{' '}
              <input
                type="file"
                accept=".csv,text/csv,text/plain"
                onChange={({ currentTarget }) =>
                  void currentTarget.files?.[0]?.text().then(
                    (text) => setCsv(text),
                    () => setCsv(''),
                  )
                }
              />
            </label>
          }
        >
          <Area
            name="csv"
            label="List"
            hint="Roles are separated by spaces. Accounts that exist are left as they are."
            required
            rows={10}
            spellCheck={false}
            placeholder={EXAMPLE}
            value={csv}
            onChange={({ currentTarget }) => setCsv(currentTarget.value)}
            className="font-mono text-[13px]"
          />
        </Form>
      ) : (
        <Imported rows={rows} onClose={onClose} />
      )}
    </Dialog>
  )
}

function Imported({ rows, onClose }: { rows: readonly ImportedAccount[]; onClose: () => void }) {
  const created = rows.filter(({ status }) => status === 'created').length
  const links = rows.flatMap(({ username, password_link: link }) => (link === null ? [] : [[username, link.url]]))
  return (
    <>
      <p role="status" className="mb-3">
        {plural(created, 'account')} created.
        {links.length > 0 && ' Give each person the link: it works once, for a day, and is not shown again.'}
      </p>
      <ul aria-label="Imported accounts" className="mb-4">
        {rows.map(({ row, username, status, reason, password_link: link }) => (
          <li key={row} className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t border-line py-2">
            <span className="w-8 text-quiet tabular-nums">{row}</span>
            <span className="min-w-0 flex-1 wrap-anywhere" dir="auto">
              {username}
            </span>
            <StateBadge {...STATES[status]} />
            {reason !== null && <span className="w-full text-small text-bad-fg">{reason}</span>}
            {link !== null && <Copy text={link.url} shown="copy the link" label={`link of ${isolated(username)}`} />}
          </li>
        ))}
      </ul>
      <div className="flex flex-wrap justify-end gap-2">
        {links.length > 0 && (
          <Button icon="copy" onClick={() => void navigator.clipboard.writeText(links.map(asRow).join('\n'))}>
            Copy all links as CSV
          </Button>
        )}
        <Button look="main" onClick={onClose}>
          Done
        </Button>
      </div>
    </>
  )
}

const asRow = (cells: readonly string[]): string => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')
