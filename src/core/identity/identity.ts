// Accounts and authentication for all doors. An account has a name, a password and roles; a login returns a token, a program
// uses an API key, and a request carries one of the two.
//
//   register ─► account ─login─► token ─┐
//                  └─createApiKey─► key ─┴─► authenticate ─► account, as it is now
//
// Nothing is cached: a logout, a revoked key or a changed role takes effect with the next request, on every server. That is
// affordable because concurrent requests share one query (batch.ts). Tokens and windows expire by PostgreSQL's clock.
import { batched } from '../db/batch.ts'
import type { Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import type { Loop } from '../loop.ts'
import { refused, type Refused } from '../outcome.ts'
import * as accounts from './accounts.ts'
import type { Account, ChangeAnswer } from './accounts.ts'
import { ensureAdmin, type EnsuredAdmin } from './admin.ts'
import * as apiKeys from './api-keys.ts'
import type { ApiKey, CreateKeyAnswer } from './api-keys.ts'
import { openPasswordChange, type PasswordAnswer, type PasswordChange } from './change-password.ts'
import { openLogin, type LoginAnswer, type LoginRequest } from './login.ts'
import { isPassword, openPasswords } from './password.ts'
import { deleteExpiredWindows, openRate, type TakeRate } from './rate.ts'
import type { Role } from './role.ts'
import type { Credential } from './secrets.ts'
import * as tokens from './tokens.ts'
import { isUsername } from './username.ts'

const CLEAN_EVERY_MS = 60_000
const CLEAN_ROWS_MAX = 1000

/** In order of precedence. */
export type RegisterRefusal = 'invalid_username' | 'invalid_password' | 'duplicate_user'
export type RegisterAnswer = { ok: true; account: Account } | Refused<RegisterRefusal>

export interface RegisterRequest {
  username: string
  password: string
  roles: readonly Role[]
}

export interface Identity {
  register(request: RegisterRequest): Promise<RegisterAnswer>
  login(request: LoginRequest): Promise<LoginAnswer>
  changePassword(change: PasswordChange): Promise<PasswordAnswer>
  /** False: there was no valid token. */
  logout(token: string): Promise<boolean>
  /** Null: invalid credential, or a closed account. */
  authenticate(credential: Credential): Promise<Account | null>

  createApiKey(accountId: number, name: string): Promise<CreateKeyAnswer>
  listApiKeys(accountId: number): Promise<ApiKey[]>
  revokeApiKey(accountId: number, apiKeyId: number): Promise<boolean>

  findAccount(username: string): Promise<Account | null>
  /** Ordered by id. */
  listAccounts(page: { after: number; limit: number }): Promise<Account[]>
  setRoles(accountId: number, roles: readonly Role[]): Promise<ChangeAnswer>
  setActive(accountId: number, active: boolean): Promise<ChangeAnswer>
  ensureAdmin(): Promise<EnsuredAdmin>

  /** Adds one to the bucket and returns whether the count is within the limit. */
  takeRate: TakeRate
  loops: readonly Loop[]
}

export function openIdentity({ database, config }: { database: Database; config: Config }): Identity {
  const { hot } = database
  const passwords = openPasswords()
  const takeRate = openRate(hot)
  const loginDeps = { database, passwords, takeRate, config }

  const holderOfToken = batched<string, { account: Account | null }>({
    run: (asked) => tokens.holdersOfTokens(hot, asked),
  })
  const holderOfApiKey = batched<string, { account: Account | null }>({
    run: (asked) => apiKeys.holdersOfApiKeys(hot, asked),
  })

  return {
    async register({ username, password, roles }) {
      if (!isUsername(username)) return refused('invalid_username')
      if (!isPassword(password)) return refused('invalid_password')
      if ((await accounts.findAccount(database, username)) !== null) return refused('duplicate_user')

      const passwordHash = await passwords.hash(password)
      const account = await accounts.insertAccount(database, { username, passwordHash, roles })
      return account === null ? refused('duplicate_user') : { ok: true, account }
    },
    login: openLogin(loginDeps),
    changePassword: openPasswordChange(loginDeps),
    logout: async (token) => tokens.isToken(token) && tokens.revokeToken(database, token),
    async authenticate({ kind, secret }) {
      if (kind === 'token') return tokens.isToken(secret) ? (await holderOfToken(secret)).account : null
      return apiKeys.isApiKey(secret) ? (await holderOfApiKey(secret)).account : null
    },

    createApiKey: (accountId, name) => apiKeys.createApiKey(database, accountId, name),
    listApiKeys: (accountId) => apiKeys.listApiKeys(database, accountId),
    revokeApiKey: (accountId, apiKeyId) => apiKeys.revokeApiKey(database, accountId, apiKeyId),

    findAccount: async (username) => (await accounts.findAccount(database, username))?.account ?? null,
    listAccounts: (page) => accounts.listAccounts(database, page),
    setRoles: (accountId, roles) => accounts.setRoles(database, accountId, roles),
    setActive: (accountId, active) => accounts.setActive(database, accountId, active),
    ensureAdmin: () =>
      ensureAdmin(database, passwords, {
        username: config.REEVE_ADMIN_USERNAME,
        password: config.REEVE_ADMIN_PASSWORD,
      }),

    takeRate,
    loops: [cleaning(database)],
  }
}

const cleaning = (database: Database): Loop => ({
  name: 'prune-tokens-and-rate-windows',
  everyMs: CLEAN_EVERY_MS,
  async runOnce() {
    const expired = await tokens.deleteExpiredTokens(database, CLEAN_ROWS_MAX)
    const windows = await deleteExpiredWindows(database, CLEAN_ROWS_MAX)
    return expired === CLEAN_ROWS_MAX || windows === CLEAN_ROWS_MAX
  },
})
