// An API key is a long-lived credential for a program, with the roles of its account: shown once, valid until revoked.
import type { Database, Queryable } from '../db/database.ts'
import { refused, type Refused } from '../outcome.ts'
import { newSecret } from '../random.ts'
import { accountFrom, type Account, type AccountRow } from './accounts.ts'
import { hashSecret } from './secrets.ts'

const LOCK_ACCOUNT = `select account_id from accounts where account_id = $1 for update`
const COUNT_LIVE = `select count(*)::integer as live from api_keys where account_id = $1 and revoked_at is null`
const INSERT = `
  insert into api_keys (key_hash, name, account_id) values ($1, $2, $3)
  returning api_key_id, name, created_at, last_used_at`
const LIST = `
  select api_key_id, name, created_at, last_used_at from api_keys
   where account_id = $1 and revoked_at is null order by api_key_id`
const REVOKE = `
  update api_keys set revoked_at = clock_timestamp()
   where api_key_id = $1 and account_id = $2 and revoked_at is null returning api_key_id`

// Updates the time of last use at most once a minute, and skips a key that another process is updating.
const SELECT_HOLDERS = `
  with used as (
    update api_keys set last_used_at = clock_timestamp()
     where api_key_id = any (array(
       select api_key_id from api_keys
        where key_hash = any ($1::bytea[]) and revoked_at is null
          and (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute')
        for update skip locked))
  )
  select encode(k.key_hash, 'hex') as hash, a.account_id, a.username, a.roles, a.is_active, a.created_at
    from api_keys k join accounts a on a.account_id = k.account_id
   where k.key_hash = any ($1::bytea[]) and k.revoked_at is null and a.is_active`

const PREFIX = 'reeve_' // lets a secret scanner recognise a key that leaked
const API_KEY = /^reeve_[0-9a-f]{64}$/
export const LIVE_KEYS_MAX = 100

export interface ApiKey {
  apiKeyId: number
  name: string
  createdAt: Date
  lastUsedAt: Date | null
}

interface ApiKeyRow {
  api_key_id: string
  name: string
  created_at: Date
  last_used_at: Date | null
}

const apiKeyFrom = (row: ApiKeyRow): ApiKey => ({
  apiKeyId: Number(row.api_key_id),
  name: row.name,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
})

export type CreateKeyAnswer = { ok: true; apiKey: ApiKey; secret: string } | Refused<'too_many_keys'>

export const isApiKey = (text: string): boolean => API_KEY.test(text)

export async function createApiKey(database: Database, accountId: number, name: string): Promise<CreateKeyAnswer> {
  const secret = PREFIX + newSecret()
  return database.transaction(async (tx) => {
    await tx.query(LOCK_ACCOUNT, [accountId]) // two concurrent calls must not both use the last free slot
    const [row] = await tx.query<{ live: number }>(COUNT_LIVE, [accountId])
    if (row === undefined || row.live >= LIVE_KEYS_MAX) return refused('too_many_keys')

    const [made] = await tx.query<ApiKeyRow>(INSERT, [hashSecret(secret), name, accountId])
    if (made === undefined) throw new Error('The API key was not stored.')
    return { ok: true, apiKey: apiKeyFrom(made), secret }
  })
}

export async function listApiKeys(on: Queryable, accountId: number): Promise<ApiKey[]> {
  return (await on.query<ApiKeyRow>(LIST, [accountId])).map(apiKeyFrom)
}

/** False: the account has no such key. */
export async function revokeApiKey(on: Queryable, accountId: number, apiKeyId: number): Promise<boolean> {
  return (await on.query(REVOKE, [apiKeyId, accountId])).length > 0
}

/** One statement for a batch of requests. */
export async function holdersOfApiKeys(on: Queryable, keys: readonly string[]): Promise<{ account: Account | null }[]> {
  const hashes = keys.map(hashSecret)
  const rows = await on.query<AccountRow & { hash: string }>(SELECT_HOLDERS, [hashes])
  const accountOf = new Map(rows.map((row) => [row.hash, accountFrom(row)]))
  return hashes.map((hash) => ({ account: accountOf.get(hash.toString('hex')) ?? null }))
}
