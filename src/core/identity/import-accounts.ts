// Creates the accounts of a list, each in a transaction of its own: an import that was cut off is repeated, and what exists is
// left as it is. An account without a password in the list gets a link by which its owner sets one.
import type { Database } from '../db/database.ts'
import { findAccount, insertAccount, type Account } from './accounts.ts'
import { writeAudit } from './audit.ts'
import { insertLink, LINK_TTL_SEC, type PasswordLink } from './passwords/password-link.ts'
import { isNewPassword, type Passwords } from './passwords/password.ts'
import type { Role } from './role.ts'
import { isUsername } from './username.ts'

export interface AccountToImport {
  username: string
  /** Null: the owner sets it, by a link. */
  password: string | null
  roles: readonly Role[]
}

export type ImportOutcome =
  | { status: 'created'; account: Account; link: PasswordLink | null }
  | { status: 'exists'; account: Account }
  | { status: 'refused'; reason: 'invalid_username' | 'invalid_password' }

export type ImportAccounts = (list: readonly AccountToImport[], by: { actorId?: number }) => Promise<ImportOutcome[]>

export function openImport({ database, passwords }: { database: Database; passwords: Passwords }): ImportAccounts {
  const importOne = async (row: AccountToImport, by: { actorId?: number }): Promise<ImportOutcome> => {
    const { username, password, roles } = row
    if (!isUsername(username)) return { status: 'refused', reason: 'invalid_username' }
    if (password !== null && !isNewPassword(password)) return { status: 'refused', reason: 'invalid_password' }
    const known = await findAccount(database, username)
    if (known !== null) return { status: 'exists', account: known.account }

    const passwordHash = password === null ? '' : await passwords.hash(password)
    const made = await database.transaction(async (tx) => {
      const account = await insertAccount(tx, { username, passwordHash, roles })
      if (account === null) return null
      const { accountId } = account
      await writeAudit(tx, { accountId, event: 'account_created', detail: { roles, imported: true }, ...by })
      const link = password === null ? await insertLink(tx, accountId, LINK_TTL_SEC.import) : null
      return { status: 'created' as const, account, link }
    })
    // Null: registered in this moment, or the name of a guest.
    if (made !== null) return made
    const other = await findAccount(database, username)
    return other === null
      ? { status: 'refused', reason: 'invalid_username' }
      : { status: 'exists', account: other.account }
  }
  return async (list, by) => {
    const outcomes: ImportOutcome[] = []
    for (const row of list) outcomes.push(await importOne(row, by))
    return outcomes
  }
}
