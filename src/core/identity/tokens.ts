// A login returns a token, valid until it expires or is revoked.
import type { Queryable } from '../db/database.ts'
import { newSecret } from '../random.ts'
import { accountFrom, type Account, type AccountRow } from './accounts.ts'
import { hashSecret } from './secrets.ts'

const INSERT = `
  insert into tokens (token_hash, account_id, expires_at) values ($1, $2, clock_timestamp() + $3 * interval '1 second')
  returning expires_at`
const SELECT_HOLDERS = `
  select encode(t.token_hash, 'hex') as hash, a.account_id, a.username, a.roles, a.is_active, a.created_at
    from tokens t join accounts a on a.account_id = t.account_id
   where t.token_hash = any ($1::bytea[]) and t.expires_at > clock_timestamp() and a.is_active`
const DELETE = `delete from tokens where token_hash = $1 and expires_at > clock_timestamp() returning true as deleted`
const DELETE_EXPIRED = `
  delete from tokens where token_hash = any (array(
    select token_hash from tokens where expires_at <= statement_timestamp() limit $1)) returning true as deleted`

const TOKEN = /^[0-9a-f]{64}$/

export interface Issued {
  token: string
  expiresAt: Date
}

export async function issueToken(on: Queryable, accountId: number, ttlSec: number): Promise<Issued> {
  const token = newSecret()
  const [row] = await on.query<{ expires_at: Date }>(INSERT, [hashSecret(token), accountId, ttlSec])
  if (row === undefined) throw new Error('The token was not stored.')
  return { token, expiresAt: row.expires_at }
}

export const isToken = (text: string): boolean => TOKEN.test(text)

/** One query for a batch of requests. */
export async function holdersOfTokens(
  on: Queryable,
  tokens: readonly string[],
): Promise<{ account: Account | null }[]> {
  const hashes = tokens.map(hashSecret)
  const rows = await on.query<AccountRow & { hash: string }>(SELECT_HOLDERS, [hashes])
  const accountOf = new Map(rows.map((row) => [row.hash, accountFrom(row)]))
  return hashes.map((hash) => ({ account: accountOf.get(hash.toString('hex')) ?? null }))
}

/** False: there was no valid token. */
export async function revokeToken(on: Queryable, token: string): Promise<boolean> {
  return (await on.query(DELETE, [hashSecret(token)])).length > 0
}

export async function deleteExpiredTokens(on: Queryable, limit: number): Promise<number> {
  return (await on.query(DELETE_EXPIRED, [limit])).length
}
