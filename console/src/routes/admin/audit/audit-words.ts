import type { AuditEntry } from '@reeve/sdk'
import { roleWord } from '../../../frame/account-button.tsx'
import type { Stated } from '../../../parts/data/state-badge.tsx'
import { isolated } from '../../../parts/text/isolated.ts'

const EVENTS: Readonly<Record<string, Stated>> = {
  account_created: { tone: 'good', word: 'Account created' },
  signed_in: { tone: 'good', word: 'Signed in' },
  sign_in_failed: { tone: 'warn', word: 'Sign-in failed' },
  signed_out: { tone: 'quiet', word: 'Signed out' },
  session_revoked: { tone: 'quiet', word: 'Login ended' },
  password_changed: { tone: 'active', word: 'Password changed' },
  password_reset: { tone: 'warn', word: 'Password reset' },
  roles_changed: { tone: 'warn', word: 'Roles changed' },
  account_closed: { tone: 'bad', word: 'Account closed' },
  account_reopened: { tone: 'good', word: 'Account reopened' },
  api_key_created: { tone: 'active', word: 'API key created' },
  api_key_revoked: { tone: 'quiet', word: 'API key revoked' },
  api_key_used: { tone: 'quiet', word: 'API key used' },
}

/** An event that this console does not know yet is shown by its name, as words. */
export const auditState = (event: string): Stated =>
  EVENTS[event] ?? { tone: 'quiet', word: event.charAt(0).toUpperCase() + event.slice(1).replaceAll('_', ' ') }

/** What changed, in words. */
export function auditDetail({ detail }: AuditEntry): string {
  if (typeof detail !== 'object' || detail === null) return ''
  return Object.entries(detail)
    .map(([name, value]) => {
      if (value === true) return plain(name)
      return name === 'roles' || name === 'name' ? said(value) : `${plain(name)} ${said(value)}`
    })
    .join(', ')
}

const plain = (name: string): string => name.replaceAll('_', ' ')

function said(value: unknown): string {
  if (Array.isArray(value)) return value.map((one) => (typeof one === 'string' ? roleWord(one) : said(one))).join(', ')
  return typeof value === 'string' ? isolated(value) : JSON.stringify(value)
}
