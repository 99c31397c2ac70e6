// An admin gives an account a new password. All logins of the account end; its API keys stay, as with a change by the account
// itself. Nobody resets their own: a change asks for the current password.
import type { Database } from '../../db/database.ts'
import { refused, type Ok, type Refused } from '../../values/outcome.ts'
import { writeAudit } from '../audit.ts'
import { isNewPassword, type Passwords } from './password.ts'

const SELECT = `select is_guest from accounts where account_id = $1 and deleted_at is null`
const UPDATE = `
  update accounts set password_hash = $2 where account_id = $1 and not is_guest and deleted_at is null
  returning true as changed`
const DELETE_TOKENS = `delete from tokens where account_id = $1`
const DELETE_LINK = `delete from password_links where account_id = $1`

export interface PasswordReset {
  accountId: number
  /** The admin who does it. Undefined: a command on the server's machine. */
  actorId?: number
  newPassword: string
  address?: string
}

/** In order of precedence. */
export type ResetAnswer = Ok | Refused<'invalid_password' | 'own_account' | 'unknown_account' | 'guest'>

export function openPasswordReset({ database, passwords }: { database: Database; passwords: Passwords }) {
  return async ({ accountId, newPassword, ...by }: PasswordReset): Promise<ResetAnswer> => {
    if (!isNewPassword(newPassword)) return refused('invalid_password')
    if (accountId === by.actorId) return refused('own_account')
    const [known] = await database.query<{ is_guest: boolean }>(SELECT, [accountId])
    if (known === undefined) return refused('unknown_account')
    if (known.is_guest) return refused('guest')

    const passwordHash = await passwords.hash(newPassword)
    return database.transaction(async (tx) => {
      const changed = await tx.query(UPDATE, [accountId, passwordHash])
      if (changed.length === 0) return refused('unknown_account')
      await tx.query(DELETE_TOKENS, [accountId])
      await tx.query(DELETE_LINK, [accountId])
      await writeAudit(tx, { accountId, event: 'password_reset', ...by })
      return { ok: true }
    })
  }
}
