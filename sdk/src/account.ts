import type { ReeveClient } from './client.ts'

export type Role = 'PLAYER' | 'CLIENT' | 'WORKER_OWNER' | 'OPERATOR' | 'SCRAPER' | 'CHALLENGER' | 'ADMIN'

export interface Me {
  user_id: number
  username: string
  roles: Role[]
}

export interface About {
  version: string
  doors: { name: string; about: string; state: 'open' | 'closed' }[]
  /** Whether visitors may create accounts. */
  registration: 'open' | 'closed'
  /** Null: nobody is signed in. */
  account: Me | null
}

export interface Registration {
  username: string
  password: string
  role: 'CLIENT' | 'WORKER_OWNER'
}

export interface AccountLogin {
  id: number
  address: string
  user_agent: string
  created_at: string
  expires_at: string
  /** True for the login of this request. */
  current: boolean
}

export interface ApiKey {
  id: number
  name: string
  /** Null: all roles of the account. */
  scopes: Role[] | null
  created_at: string
  expires_at: string | null
  last_used_at: string | null
}

export interface NewApiKey {
  name: string
  scopes?: Role[]
  expires_in_days?: number
}

/** Your own account: its logins, API keys and password. */
export class AccountClient {
  readonly #client: ReeveClient

  constructor(client: ReeveClient) {
    this.#client = client
  }

  /** The open doors, the version, and the account of the request. Needs no account. */
  about(): Promise<About> {
    return this.#client.request('GET', '/about')
  }

  /** Signs in with a cookie that scripts cannot read. For pages of the server's own origin. */
  signIn(username: string, password: string): Promise<Me> {
    return this.#client.request('POST', '/auth/session', { body: { username, password } })
  }

  /** Signs in as a new guest, who has no password and no rating. */
  signInAsGuest(): Promise<Me> {
    return this.#client.request('POST', '/auth/session/guest')
  }

  /** Ends the session of `signIn`, and the WebSockets that it opened. */
  signOut(): Promise<void> {
    return this.#client.request('DELETE', '/auth/session')
  }

  /** By the token of a one-time link that an admin made. Every login of the account ends. */
  setPasswordByLink(token: string, newPassword: string): Promise<{ user_id: number; username: string }> {
    return this.#client.request('POST', '/auth/password-link', { body: { token, new_password: newPassword } })
  }

  register(registration: Registration): Promise<{ user_id: number; username: string; role: Role }> {
    return this.#client.request('POST', '/auth/register', { body: registration })
  }

  me(): Promise<Me> {
    return this.#client.request('GET', '/auth/me')
  }

  changePassword(currentPassword: string, newPassword: string): Promise<void> {
    const body = { current_password: currentPassword, new_password: newPassword }
    return this.#client.request('POST', '/auth/password', { body })
  }

  async logins(): Promise<AccountLogin[]> {
    return (await this.#client.request<{ sessions: AccountLogin[] }>('GET', '/auth/sessions')).sessions
  }

  revokeLogin(id: number): Promise<void> {
    return this.#client.request('DELETE', `/auth/sessions/${id}`)
  }

  async apiKeys(): Promise<ApiKey[]> {
    return (await this.#client.request<{ api_keys: ApiKey[] }>('GET', '/auth/api-keys')).api_keys
  }

  /** `api_key` is shown once. */
  createApiKey(key: NewApiKey): Promise<ApiKey & { api_key: string }> {
    return this.#client.request('POST', '/auth/api-keys', { body: key })
  }

  revokeApiKey(id: number): Promise<void> {
    return this.#client.request('DELETE', `/auth/api-keys/${id}`)
  }
}
