// A login returns a token, valid until it expires or is revoked.
import type { Queryable } from '../db/database.ts'
import { textsParam } from '../db/params.ts'
import { newSecret } from '../random.ts'
import { accountFrom, type Account, type AccountRow } from './accounts.ts'
import type { Role } from './role.ts'
import { hashSecret } from './secrets.ts'

// Fenced by the password that was verified, and by the account being open. Whoever changes the password or closes the account
// updates its row and then deletes its tokens: with the share lock they wait for this token and delete it, or this finds no row.
const INSERT = `
  insert into tokens (token_hash, account_id, expires_at, address, user_agent)
  select $1::bytea, account_id, clock_timestamp() + $3::integer * interval '1 second', $4::text, $5::text
    from accounts
   where account_id = $2 and is_active and ($6::text is null or password_hash = $6) for share
  returning expires_at`
const IS_LIVE = `
  select true as live from tokens where token_hash = $1 and account_id = $2 and expires_at > clock_timestamp()`
const SELECT_HOLDERS = `
  select encode(t.token_hash, 'hex') as hash, a.account_id, a.username, a.roles, a.is_active, a.created_at
    from tokens t join accounts a on a.account_id = t.account_id
   where t.token_hash = any ($1::bytea[]) and t.expires_at > clock_timestamp() and a.is_active`
// Of thousands of open connections hardly any has changed: only those are returned.
const SELECT_CHANGED = `
  select asked.number::integer as number
    from unnest($1::text[], $2::text[]) with ordinality as asked (hash, roles, number)
   where not exists (
     select from tokens t join accounts a on a.account_id = t.account_id
      where t.token_hash = decode(asked.hash, 'hex') and t.expires_at > clock_timestamp() and a.is_active
        and array_to_string(a.roles, ',') = asked.roles)`
const EXTEND_OF_GUEST = `
  update tokens t set expires_at = clock_timestamp() + $2 * interval '1 second' from accounts a
   where t.account_id = $1 and t.expires_at > clock_timestamp() and a.account_id = t.account_id and a.is_guest`
const DELETE = `delete from tokens where token_hash = $1 and expires_at > clock_timestamp() returning account_id`
const LIST_SESSIONS = `
  select session_id, address, user_agent, created_at, expires_at, token_hash = $2 as is_current from tokens
   where account_id = $1 and expires_at > clock_timestamp() order by session_id desc limit $3`
const DELETE_SESSION = `delete from tokens where account_id = $1 and session_id = $2 returning true as deleted`
const DELETE_EXPIRED = `
  delete from tokens where token_hash = any (array(
    select token_hash from tokens where expires_at <= statement_timestamp() limit $1)) returning true as deleted`

const USER_AGENT_CHARS_MAX = 300
const SESSIONS_LISTED_MAX = 200

const TOKEN = /^[0-9a-f]{64}$/

export interface Issued {
  token: string
  expiresAt: Date
}

/** Where a login came from. */
export interface LoginOrigin {
  address?: string
  userAgent?: string
}

export interface NewToken extends LoginOrigin {
  accountId: number
  ttlSec: number
  /** The hash that the password of this login matched. Default: there was no password. */
  passwordHash?: string
}

/** A guest cannot log in again: the token lives for a day after the last connection. */
export const GUEST_TTL_SEC = 86_400

export const extendGuestTokens = async (on: Queryable, accountId: number): Promise<void> =>
  void (await on.query(EXTEND_OF_GUEST, [accountId, GUEST_TTL_SEC]))

/** Null: the account is closed, or has another password by now. */
export async function issueToken(
  on: Queryable,
  { accountId, ttlSec, passwordHash, address = '', userAgent = '' }: NewToken,
): Promise<Issued | null> {
  const token = newSecret()
  const [row] = await on.query<{ expires_at: Date }>(INSERT, [
    hashSecret(token),
    accountId,
    ttlSec,
    address,
    userAgent.slice(0, USER_AGENT_CHARS_MAX),
    passwordHash ?? null,
  ])
  return row === undefined ? null : { token, expiresAt: row.expires_at }
}

export async function isLiveToken(on: Queryable, accountId: number, token: string): Promise<boolean> {
  return (await on.query(IS_LIVE, [hashSecret(token), accountId])).length > 0
}

export const isToken = (text: string): boolean => TOKEN.test(text)

/** One query for a batch of requests. */
export async function holdersOfTokens(
  on: Queryable,
  tokens: readonly string[],
): Promise<{ account: Account | null }[]> {
  const hashOf = new Map([...new Set(tokens)].map((token) => [token, hashSecret(token)])) // many use the same one
  const rows = await on.query<AccountRow & { hash: string }>(SELECT_HOLDERS, [[...hashOf.values()]])
  const accountOf = new Map(rows.map((row) => [row.hash, accountFrom(row)]))
  return tokens.map((token) => ({ account: accountOf.get(hashOf.get(token)?.toString('hex') ?? '') ?? null }))
}

/** A token that was valid, for an account with these roles. */
export interface HeldToken {
  /** In hexadecimal. */
  hash: string
  /** Separated by commas. */
  roles: string
}

export const heldToken = (token: string, roles: readonly Role[]): HeldToken => ({
  hash: hashSecret(token).toString('hex'),
  roles: roles.join(','),
})

/** The places of those that are no longer valid, or whose account has other roles. */
export async function changedTokens(on: Queryable, held: readonly HeldToken[]): Promise<ReadonlySet<number>> {
  if (held.length === 0) return new Set()
  const rows = await on.query<{ number: number }>(SELECT_CHANGED, [
    textsParam(held.map(({ hash }) => hash)),
    textsParam(held.map(({ roles }) => roles)),
  ])
  return new Set(rows.map(({ number }) => number - 1))
}

/** The account of the token. Null: there was no valid token. */
export async function revokeToken(on: Queryable, token: string): Promise<number | null> {
  const [row] = await on.query<{ account_id: string }>(DELETE, [hashSecret(token)])
  return row === undefined ? null : Number(row.account_id)
}

/** A login of an account, without its secret. */
export interface AccountSession {
  sessionId: number
  address: string
  userAgent: string
  createdAt: Date
  expiresAt: Date
  /** The login that asks. */
  isCurrent: boolean
}

export async function listSessions(on: Queryable, accountId: number, token: string | null): Promise<AccountSession[]> {
  type SessionRow = {
    session_id: string
    address: string
    user_agent: string
    created_at: Date
    expires_at: Date
    is_current: boolean
  }
  const values = [accountId, hashSecret(token ?? ''), SESSIONS_LISTED_MAX]
  return (await on.query<SessionRow>(LIST_SESSIONS, values)).map((row) => ({
    sessionId: Number(row.session_id),
    address: row.address,
    userAgent: row.user_agent,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    isCurrent: row.is_current,
  }))
}

/** False: the account has no such session. */
export async function revokeSession(on: Queryable, accountId: number, sessionId: number): Promise<boolean> {
  return (await on.query(DELETE_SESSION, [accountId, sessionId])).length > 0
}

export async function deleteExpiredTokens(on: Queryable, limit: number): Promise<number> {
  return (await on.query(DELETE_EXPIRED, [limit])).length
}
