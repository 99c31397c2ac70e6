// An API key is a long-lived credential for a program, with the roles of its account: shown once, valid until it expires or is
// revoked, optionally for some of the account's roles only.
import type { Database, Queryable } from '../db/database.ts'
import { refused, type Refused } from '../values/outcome.ts'
import { newSecret } from '../random.ts'
import { writeAudit } from './audit.ts'
import { accountFrom, type Account, type AccountRow } from './accounts.ts'
import { isRole, type Role } from './role.ts'
import { hashSecret } from './secrets.ts'
import { isLiveToken } from './tokens.ts'

const COLUMNS = `api_key_id, name, scopes, created_at, expires_at, last_used_at`
const IS_LIVE = `revoked_at is null and (expires_at is null or expires_at > clock_timestamp())`

const LOCK_ACCOUNT = `select account_id from accounts where account_id = $1 for update`
const COUNT_LIVE = `select count(*)::integer as live from api_keys where account_id = $1 and ${IS_LIVE}`
const INSERT = `
  insert into api_keys (key_hash, name, account_id, scopes, expires_at) values ($1, $2, $3, $4, $5)
  returning ${COLUMNS}`
const LIST = `
  select ${COLUMNS} from api_keys where account_id = $1 and revoked_at is null order by api_key_id`
const REVOKE = `
  update api_keys set revoked_at = clock_timestamp()
   where api_key_id = $1 and account_id = $2 and revoked_at is null returning api_key_id`

// Updates the time of last use at most once a minute, skips a key that another process is updating, and adds a use to the
// audit trail at most once a day.
const SELECT_HOLDERS = `
  with due as materialized (
    select api_key_id, account_id, name, last_used_at from api_keys
     where key_hash = any ($1::bytea[]) and ${IS_LIVE}
       and (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute')
       for update skip locked
  ), used as (
    update api_keys set last_used_at = clock_timestamp() from due where api_keys.api_key_id = due.api_key_id
  ), audited as (
    insert into audit_events (account_id, event, detail)
    select account_id, 'api_key_used', json_build_object('api_key_id', api_key_id, 'name', name) from due
     where last_used_at is null or last_used_at::date < current_date
  )
  select encode(k.key_hash, 'hex') as hash, k.scopes, a.account_id, a.username, a.roles, a.is_active, a.created_at
    from api_keys k join accounts a on a.account_id = k.account_id
   where k.key_hash = any ($1::bytea[]) and k.revoked_at is null
     and (k.expires_at is null or k.expires_at > clock_timestamp()) and a.is_active`

const PREFIX = 'reeve_' // lets a secret scanner recognise a key that leaked
const API_KEY = /^reeve_[0-9a-f]{64}$/
export const LIVE_KEYS_MAX = 100

export interface ApiKey {
  apiKeyId: number
  name: string
  /** The roles that the key may use. Null: all roles of its account. */
  scopes: readonly Role[] | null
  createdAt: Date
  expiresAt: Date | null
  lastUsedAt: Date | null
}

interface ApiKeyRow {
  api_key_id: string
  name: string
  scopes: string[] | null
  created_at: Date
  expires_at: Date | null
  last_used_at: Date | null
}

const apiKeyFrom = (row: ApiKeyRow): ApiKey => ({
  apiKeyId: Number(row.api_key_id),
  name: row.name,
  scopes: row.scopes?.filter(isRole) ?? null,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  lastUsedAt: row.last_used_at,
})

/** In order of precedence. */
export type CreateKeyAnswer =
  | { ok: true; apiKey: ApiKey; secret: string }
  | Refused<'login_ended'>
  | Refused<'too_many_keys'>

export const isApiKey = (text: string): boolean => API_KEY.test(text)

export interface NewApiKey {
  /** The login that creates it. */
  token: string
  name: string
  scopes: readonly Role[] | null
  expiresAt: Date | null
}

export async function createApiKey(database: Database, accountId: number, key: NewApiKey): Promise<CreateKeyAnswer> {
  const secret = PREFIX + newSecret()
  return database.transaction(async (tx) => {
    // Two concurrent calls must not both use the last free slot. A password reset or a closing that came first has ended the login.
    await tx.query(LOCK_ACCOUNT, [accountId])
    if (!(await isLiveToken(tx, accountId, key.token))) return refused('login_ended')
    const [row] = await tx.query<{ live: number }>(COUNT_LIVE, [accountId])
    if (row === undefined || row.live >= LIVE_KEYS_MAX) return refused('too_many_keys')

    const [made] = await tx.query<ApiKeyRow>(INSERT, [
      hashSecret(secret),
      key.name,
      accountId,
      key.scopes,
      key.expiresAt,
    ])
    if (made === undefined) throw new Error('The API key was not stored.')
    const detail = { api_key_id: Number(made.api_key_id), name: key.name }
    await writeAudit(tx, { accountId, event: 'api_key_created', detail })
    return { ok: true, apiKey: apiKeyFrom(made), secret }
  })
}

export async function listApiKeys(on: Queryable, accountId: number): Promise<ApiKey[]> {
  return (await on.query<ApiKeyRow>(LIST, [accountId])).map(apiKeyFrom)
}

/** False: the account has no such key. */
export async function revokeApiKey(database: Database, accountId: number, apiKeyId: number): Promise<boolean> {
  return database.transaction(async (tx) => {
    if ((await tx.query(REVOKE, [apiKeyId, accountId])).length === 0) return false
    await writeAudit(tx, { accountId, event: 'api_key_revoked', detail: { api_key_id: apiKeyId } })
    return true
  })
}

/** One statement for a batch of requests. */
export async function holdersOfApiKeys(on: Queryable, keys: readonly string[]): Promise<{ account: Account | null }[]> {
  const hashOf = new Map([...new Set(keys)].map((key) => [key, hashSecret(key)])) // many use the same one
  const hashes = [...hashOf.values()]
  const rows = await on.query<AccountRow & { hash: string; scopes: string[] | null }>(SELECT_HOLDERS, [hashes])
  const accountOf = new Map(rows.map((row) => [row.hash, scoped(accountFrom(row), row.scopes)]))
  return keys.map((key) => ({ account: accountOf.get(hashOf.get(key)?.toString('hex') ?? '') ?? null }))
}

/** Beside its scopes a key keeps PLAYER, which every account has. */
const scoped = (account: Account, scopes: readonly string[] | null): Account =>
  scopes === null
    ? account
    : { ...account, roles: account.roles.filter((role) => role === 'PLAYER' || scopes.includes(role)) }
