import type { Role } from './account.ts'
import type { ReeveClient } from './client.ts'
import { ReeveError } from './error.ts'
import type { JobState } from './wire.ts'

export interface Account {
  user_id: number
  username: string
  roles: Role[]
  is_active: boolean
  created_at: string
}

export interface NewAccount {
  username: string
  password: string
  roles: Role[]
}

export interface ListAccounts {
  /** Only names that begin with this, in any case. */
  name?: string
  /** Only ids above this one. */
  after?: number
  limit?: number
}

/** By which the owner of an account sets its password, once. */
export interface AccountPasswordLink {
  url: string
  token: string
  expires_at: string
}

export interface ImportedAccount {
  /** In the list, whose first row has the names of the columns. */
  row: number
  username: string
  status: 'created' | 'exists' | 'refused'
  user_id: number | null
  /** Why it was refused. */
  reason: string | null
  /** Of an account whose row had no password. */
  password_link: AccountPasswordLink | null
}

export interface AuditEntry {
  id: number
  account_id: number
  /** Null: the account is gone. */
  username: string | null
  /** Null: the account itself, or the server. */
  actor_id: number | null
  /** The name of `actor_id`. */
  actor: string | null
  /** signed_in, roles_changed, account_closed, … */
  event: string
  detail: unknown
  address: string
  created_at: string
}

export interface AuditTrail {
  events: AuditEntry[]
  /** `before` of the next page; null: the last one. */
  next_before: number | null
}

export interface ServerStatus {
  version: string
  node: string
  uptime_sec: number
  doors: string[]
  kinds: string[]
  storage: { database: string; feed: string; files: string }
  /** With the data folder, or the working folder where there is none. Null: unknown. */
  disk: { free_bytes: number; total_bytes: number } | null
  websockets: number
  /** Without finished jobs. */
  jobs: { kind: string; state: JobState; count: number }[]
}

export interface ServerReadiness {
  status: 'ready' | 'draining' | 'unavailable'
  checks: Record<string, 'ok' | 'failed'>
}

export interface ServerSetting {
  name: string
  /** Asterisks for a secret. */
  value: string
  /** It differs from the default. */
  is_set: boolean
  about: string
}

/** Accounts, audit trail and state of the server. Needs an account with the role ADMIN. */
export class AdminClient {
  readonly #client: ReeveClient

  constructor(client: ReeveClient) {
    this.#client = client
  }

  /** Ordered by id. */
  async accounts(filter: ListAccounts = {}): Promise<Account[]> {
    return (await this.#client.request<{ users: Account[] }>('GET', '/admin/users', { query: { ...filter } })).users
  }

  createAccount(account: NewAccount): Promise<Account> {
    return this.#client.request('POST', '/admin/users', { body: account })
  }

  /** They take effect with the next request of the account. */
  setRoles(userId: number, roles: Role[]): Promise<Account> {
    return this.#client.request('PUT', `/admin/users/${userId}/roles`, { body: { roles } })
  }

  /** Closing ends all logins and revokes all API keys of the account. */
  setActive(userId: number, active: boolean): Promise<Account> {
    return this.#client.request('PUT', `/admin/users/${userId}/active`, { body: { active } })
  }

  /** Of another account, whose logins all end. */
  resetPassword(userId: number, password: string): Promise<void> {
    return this.#client.request('PUT', `/admin/users/${userId}/password`, { body: { password } })
  }

  /** A link for another account, valid for a day, in place of any before it. */
  createPasswordLink(userId: number): Promise<AccountPasswordLink> {
    return this.#client.request('POST', `/admin/users/${userId}/password-link`)
  }

  /** Another account. What names it goes on to name it, as `deleted-<id>`. */
  deleteAccount(userId: number): Promise<void> {
    return this.#client.request('DELETE', `/admin/users/${userId}`)
  }

  /** CSV with the columns username, password (optional) and roles (optional, separated by spaces). What exists is left as it is. */
  async importAccounts(csv: string | Uint8Array<ArrayBuffer>): Promise<ImportedAccount[]> {
    const bytes = typeof csv === 'string' ? new TextEncoder().encode(csv) : csv
    const headers = { 'content-type': 'text/csv' }
    type Answer = { rows: ImportedAccount[] }
    return (await this.#client.request<Answer>('POST', '/admin/users/import', { bytes, headers })).rows
  }

  /** Newest first. */
  audit(filter: { account_id?: number; before?: number; limit?: number } = {}): Promise<AuditTrail> {
    return this.#client.request('GET', '/admin/audit', { query: { ...filter } })
  }

  status(): Promise<ServerStatus> {
    return this.#client.request('GET', '/admin/status')
  }

  /** Of the process that answers. */
  async settings(): Promise<ServerSetting[]> {
    return (await this.#client.request<{ settings: ServerSetting[] }>('GET', '/admin/settings')).settings
  }

  /** Whether its dependencies work. Needs no account. */
  async readiness(): Promise<ServerReadiness> {
    try {
      return await this.#client.request('GET', '/readyz')
    } catch (error) {
      if (error instanceof ReeveError && isReadiness(error.body)) return error.body
      throw error
    }
  }
}

/** 503 has the same body as 200. */
const isReadiness = (body: unknown): body is ServerReadiness =>
  typeof body === 'object' && body !== null && 'status' in body && 'checks' in body
