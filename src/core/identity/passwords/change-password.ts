// Changes an account's own password. The holder of a token may not know the password, so that the current one is required,
// and guesses count as logins. All other logins end: one of them may be the reason for the change.
import { refused, type Ok, type Refused } from '../../values/outcome.ts'
import { writeAudit } from '../audit.ts'
import { findAccount, type Account } from '../accounts.ts'
import { loginBucket, loginLimit, type LoginDeps } from '../login.ts'
import { isNewPassword, isPassword } from './password.ts'
import { hashSecret } from '../secrets.ts'

// Of two concurrent changes one is applied: for the other, the current password is wrong by then. The row comes before the
// tokens, here and wherever logins end: a login in progress waits for the row, or has inserted the token that is deleted (tokens.ts).
const UPDATE = `
  update accounts set password_hash = $2 where account_id = $1 and password_hash = $3 and is_active
  returning true as changed`
const DELETE_OTHER_TOKENS = `delete from tokens where account_id = $1 and token_hash <> $2`
const DELETE_LINK = `delete from password_links where account_id = $1`

export interface PasswordChange {
  account: Account
  /** This login stays valid. */
  token: string
  currentPassword: string
  newPassword: string
  address: string
}

/** In order of precedence. */
export type PasswordAnswer =
  | Ok
  | Refused<'invalid_password'>
  | (Refused<'rate_limited'> & { retryAfterSec: number })
  | Refused<'invalid_credentials'>

export function openPasswordChange({ database, passwords, takeRate, config }: LoginDeps) {
  return async (change: PasswordChange): Promise<PasswordAnswer> => {
    const { account, token, currentPassword, newPassword, address } = change
    if (!isNewPassword(newPassword)) return refused('invalid_password')
    const rate = await takeRate(loginBucket(account.username, address), loginLimit(config))
    if (!rate.ok) return { ...refused('rate_limited'), retryAfterSec: rate.retryAfterSec }

    const known = (await findAccount(database, account.username))?.passwordHash ?? null
    const matches = await passwords.verify(known, isPassword(currentPassword) ? currentPassword : '')
    if (!matches) return refused('invalid_credentials')

    const passwordHash = await passwords.hash(newPassword)
    return database.transaction(async (tx) => {
      const changed = await tx.query(UPDATE, [account.accountId, passwordHash, known])
      if (changed.length === 0) return refused('invalid_credentials')
      await tx.query(DELETE_OTHER_TOKENS, [account.accountId, hashSecret(token)])
      await tx.query(DELETE_LINK, [account.accountId])
      await writeAudit(tx, { accountId: account.accountId, event: 'password_changed', address })
      return { ok: true }
    })
  }
}
