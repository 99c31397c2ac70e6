// A link by which somebody sets the password of an account, once: made by an admin, passed on by mail or on paper. It ends when
// it is used, replaced or expired, when the password changes in another way, and when the account is closed. Only its hash is
// stored.
import type { Database, Queryable } from '../../db/database.ts'
import { newSecret } from '../../random.ts'
import { refused, type Refused } from '../../values/outcome.ts'
import { accountFrom, type Account, type AccountChange, type AccountRow } from '../accounts.ts'
import { writeAudit } from '../audit.ts'
import { hashSecret } from '../secrets.ts'
import { isNewPassword, type Passwords } from './password.ts'

const SELECT = `select is_guest, is_active from accounts where account_id = $1 and deleted_at is null for update`
const UPSERT = `
  insert into password_links (account_id, link_hash, expires_at)
  values ($1, $2, clock_timestamp() + $3 * interval '1 second')
      on conflict (account_id) do update set link_hash = excluded.link_hash, expires_at = excluded.expires_at
  returning expires_at`
const IS_LIVE = `select from password_links where link_hash = $1 and expires_at > clock_timestamp()`
// Everything that ends a link locks the account first.
const LOCK_HOLDER = `
  select account_id, username, roles, is_active, created_at from accounts
   where account_id = (select account_id from password_links where link_hash = $1) and is_active for update`
const TAKE = `
  delete from password_links where link_hash = $1 and expires_at > clock_timestamp() returning true as taken`
const SET_PASSWORD = `update accounts set password_hash = $2 where account_id = $1`
const DELETE_TOKENS = `delete from tokens where account_id = $1`
const DELETE_EXPIRED = `
  delete from password_links where account_id = any (array(
    select account_id from password_links where expires_at <= statement_timestamp() limit $1)) returning true as deleted`

const TOKEN = /^[0-9a-f]{64}$/
const DAY_SEC = 86_400
/** Of a link for somebody who waits for it, and of one in a list that is handed out later. */
export const LINK_TTL_SEC = { reset: DAY_SEC, import: 7 * DAY_SEC } as const

export interface PasswordLink {
  /** To be shown once. */
  token: string
  expiresAt: Date
}

/** In order of precedence. */
export type LinkAnswer =
  | { ok: true; link: PasswordLink }
  | Refused<'own_account' | 'unknown_account' | 'guest' | 'closed_account'>

export type UseLinkAnswer = { ok: true; account: Account } | Refused<'invalid_password' | 'invalid_link'>

/** The account must exist. Replaces the link that it had. */
export async function insertLink(on: Queryable, accountId: number, ttlSec: number): Promise<PasswordLink> {
  const token = newSecret()
  const [row] = await on.query<{ expires_at: Date }>(UPSERT, [accountId, hashSecret(token), ttlSec])
  if (row === undefined) throw new Error('The link was not stored.')
  return { token, expiresAt: row.expires_at }
}

export async function createLink(database: Database, { accountId, actorId }: AccountChange): Promise<LinkAnswer> {
  if (accountId === actorId) return refused('own_account')
  return database.transaction(async (tx) => {
    const [known] = await tx.query<{ is_guest: boolean; is_active: boolean }>(SELECT, [accountId])
    if (known === undefined) return refused('unknown_account')
    if (known.is_guest) return refused('guest')
    if (!known.is_active) return refused('closed_account')
    const link = await insertLink(tx, accountId, LINK_TTL_SEC.reset)
    await writeAudit(tx, { accountId, ...(actorId === undefined ? {} : { actorId }), event: 'password_link_created' })
    return { ok: true, link }
  })
}

export interface LinkUse {
  token: string
  newPassword: string
  address: string
}

/** All logins of the account end. Of two uses at once one is applied. */
export function openLinkUse({ database, passwords }: { database: Database; passwords: Passwords }) {
  return async ({ token, newPassword, address }: LinkUse): Promise<UseLinkAnswer> => {
    if (!isNewPassword(newPassword)) return refused('invalid_password')
    const linkHash = hashSecret(token)
    if (!TOKEN.test(token) || (await database.query(IS_LIVE, [linkHash])).length === 0) return refused('invalid_link')

    const passwordHash = await passwords.hash(newPassword)
    return database.transaction(async (tx) => {
      const [holder] = await tx.query<AccountRow>(LOCK_HOLDER, [linkHash])
      if (holder === undefined || (await tx.query(TAKE, [linkHash])).length === 0) return refused('invalid_link')
      const account = accountFrom(holder)
      await tx.query(SET_PASSWORD, [account.accountId, passwordHash])
      await tx.query(DELETE_TOKENS, [account.accountId])
      await writeAudit(tx, { accountId: account.accountId, event: 'password_link_used', address })
      return { ok: true, account }
    })
  }
}

export const deleteExpiredLinks = async (on: Queryable, limit: number): Promise<number> =>
  (await on.query(DELETE_EXPIRED, [limit])).length
