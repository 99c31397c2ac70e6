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
import { refused, type Refused } from '../values/outcome.ts'
import * as accounts from './accounts.ts'
import type { Account, AccountPage, ActiveListener, AccountChange, ChangeAnswer } from './accounts.ts'
import { ensureAdmin, type EnsuredAdmin } from './admin.ts'
import * as apiKeys from './api-keys.ts'
import type { ApiKey, CreateKeyAnswer, NewApiKey } from './api-keys.ts'
import { listAudit, writeAudit, type AuditEvent, type AuditPage } from './audit.ts'
import { openPasswordChange, type PasswordAnswer, type PasswordChange } from './passwords/change-password.ts'
import { openLogin, type LoginAnswer, type LoginRequest } from './login.ts'
import { isNewPassword, openPasswords } from './passwords/password.ts'
import { deleteExpiredWindows, openRate, type TakeRate } from './rate.ts'
import { deleteAccount, type DeleteAnswer } from './delete-account.ts'
import { openImport, type ImportAccounts } from './import-accounts.ts'
import {
  createLink,
  deleteExpiredLinks,
  openLinkUse,
  type LinkAnswer,
  type LinkUse,
  type UseLinkAnswer,
} from './passwords/password-link.ts'
import { openPasswordReset, type PasswordReset, type ResetAnswer } from './passwords/reset-password.ts'
import type { Role } from './role.ts'
import type { Credential } from './secrets.ts'
import * as tokens from './tokens.ts'
import type { AccountSession, HeldToken, LoginOrigin } from './tokens.ts'
import { isUsername } from './username.ts'
import { openVisitors, type GuestAnswer, type VisitorAnswer, type VisitorRequest } from './visitors.ts'

const CLEAN_EVERY_MS = 60_000
const CLEAN_ROWS_MAX = 1000

/** In order of precedence. */
export type RegisterRefusal = 'invalid_username' | 'invalid_password' | 'duplicate_user'
export type RegisterAnswer = { ok: true; account: Account } | Refused<RegisterRefusal>

export interface RegisterRequest {
  username: string
  password: string
  roles: readonly Role[]
  /** The admin who creates it. Default: the account itself. */
  actorId?: number
}

export interface Identity {
  /** For admins and commands. */
  register(request: RegisterRequest): Promise<RegisterAnswer>
  /** For visitors: REGISTRATION and the limit per address apply. */
  registerVisitor(request: VisitorRequest): Promise<VisitorAnswer>
  /** Creates a player without a password and logs in. */
  loginGuest(from: LoginOrigin & { address: string }): Promise<GuestAnswer>
  /** Called when a player connects and leaves: a guest ends a day after that. */
  keepGuest(account: Pick<Account, 'accountId' | 'username'>): Promise<void>
  login(request: LoginRequest): Promise<LoginAnswer>
  changePassword(change: PasswordChange): Promise<PasswordAnswer>
  /** For admins, on another account. */
  resetPassword(reset: PasswordReset): Promise<ResetAnswer>
  /** For admins, on another account: a link by which its owner sets a password once. */
  createPasswordLink(target: AccountChange): Promise<LinkAnswer>
  setPasswordByLink(use: LinkUse): Promise<UseLinkAnswer>
  /** False: there was no valid token. */
  logout(token: string): Promise<boolean>
  /** Null: invalid credential, or a closed account. */
  authenticate(credential: Credential): Promise<Account | null>
  /** For open connections: the places of those that `authenticate` would answer otherwise than when they were opened. */
  changedTokens(held: readonly HeldToken[]): Promise<ReadonlySet<number>>

  /** Newest first. `token` marks the current one. */
  listSessions(accountId: number, token: string | null): Promise<AccountSession[]>
  /** False: the account has no such session. */
  revokeSession(accountId: number, sessionId: number): Promise<boolean>

  createApiKey(accountId: number, key: NewApiKey): Promise<CreateKeyAnswer>
  listApiKeys(accountId: number): Promise<ApiKey[]>
  revokeApiKey(accountId: number, apiKeyId: number): Promise<boolean>

  findAccount(username: string): Promise<Account | null>
  /** Ordered by id. */
  listAccounts(page: AccountPage): Promise<Account[]>
  setRoles(target: AccountChange, roles: readonly Role[]): Promise<ChangeAnswer>
  setActive(target: AccountChange, active: boolean): Promise<ChangeAnswer>
  /** Not one's own. What names the account goes on to name it, as `deleted-<id>`. */
  deleteAccount(target: AccountChange): Promise<DeleteAnswer>
  /** The outcomes are in the order of the list. */
  importAccounts: ImportAccounts
  /** For a door that keeps something about accounts. */
  onActiveChange(listener: ActiveListener): void
  listAudit(page: AuditPage): Promise<AuditEvent[]>
  ensureAdmin(): Promise<EnsuredAdmin>

  /** Adds one to the bucket and returns whether the count is within the limit. */
  takeRate: TakeRate
  loops: readonly Loop[]
}

export function openIdentity({ database, config }: { database: Database; config: Config }): Identity {
  const { hot } = database
  const passwords = openPasswords()
  // Of requests, which are many: if the database crashes it forgets those of the last moment, but none for which something was
  // committed since, because that commit waited for the disk.
  const takeRate = openRate(database.asyncCommit)
  const takeLoginRate = openRate(hot)
  const loginDeps = { database, passwords, takeRate: takeLoginRate, config }

  type Holder = { account: Account | null }
  const holderOfToken = batched<string, Holder>({ run: (asked) => tokens.holdersOfTokens(hot, asked) })
  const holderOfApiKey = batched<string, Holder>({ run: (asked) => apiKeys.holdersOfApiKeys(hot, asked) })

  const register = openRegister(database, passwords)
  const activeListeners: ActiveListener[] = []
  const visitors = openVisitors({ config, database, takeRate: takeLoginRate, register })

  return {
    register,
    registerVisitor: visitors.register,
    loginGuest: visitors.guest,
    keepGuest: visitors.keepGuest,
    login: openLogin(loginDeps),
    changePassword: openPasswordChange(loginDeps),
    resetPassword: openPasswordReset(loginDeps),
    createPasswordLink: (target) => createLink(database, target),
    setPasswordByLink: openLinkUse(loginDeps),
    async logout(token) {
      const accountId = tokens.isToken(token) ? await tokens.revokeToken(database, token) : null
      if (accountId === null) return false
      await writeAudit(database, { accountId, event: 'signed_out' })
      return true
    },
    async authenticate({ kind, secret }) {
      if (kind === 'token') return tokens.isToken(secret) ? (await holderOfToken(secret)).account : null
      return apiKeys.isApiKey(secret) ? (await holderOfApiKey(secret)).account : null
    },
    changedTokens: (held) => tokens.changedTokens(hot, held),

    listSessions: (accountId, token) => tokens.listSessions(database, accountId, token),
    async revokeSession(accountId, sessionId) {
      if (!(await tokens.revokeSession(database, accountId, sessionId))) return false
      await writeAudit(database, { accountId, event: 'session_revoked', detail: { session_id: sessionId } })
      return true
    },

    createApiKey: (accountId, key) => apiKeys.createApiKey(database, accountId, key),
    listApiKeys: (accountId) => apiKeys.listApiKeys(database, accountId),
    revokeApiKey: (accountId, apiKeyId) => apiKeys.revokeApiKey(database, accountId, apiKeyId),

    findAccount: async (username) => (await accounts.findAccount(database, username))?.account ?? null,
    listAccounts: (page) => accounts.listAccounts(database, page),
    setRoles: (target, roles) => accounts.setRoles(database, target, roles),
    setActive: (target, active) => accounts.setActive(database, target, active, activeListeners),
    deleteAccount: (target) => deleteAccount(database, target, activeListeners),
    importAccounts: openImport(loginDeps),
    onActiveChange: (listener) => void activeListeners.push(listener),
    listAudit: (page) => listAudit(database, page),
    ensureAdmin: () =>
      ensureAdmin(database, passwords, {
        username: config.REEVE_ADMIN_USERNAME,
        password: config.REEVE_ADMIN_PASSWORD,
      }),

    takeRate,
    loops: [cleaning(database)],
  }
}

const openRegister =
  (database: Database, passwords: ReturnType<typeof openPasswords>): Identity['register'] =>
  async ({ username, password, roles, ...by }) => {
    if (!isUsername(username)) return refused('invalid_username')
    if (!isNewPassword(password)) return refused('invalid_password')
    if ((await accounts.findAccount(database, username)) !== null) return refused('duplicate_user')

    const passwordHash = await passwords.hash(password)
    const account = await accounts.insertAccount(database, { username, passwordHash, roles })
    if (account === null) return refused('duplicate_user')
    await writeAudit(database, { accountId: account.accountId, event: 'account_created', detail: { roles }, ...by })
    return { ok: true, account }
  }

const cleaning = (database: Database): Loop => ({
  name: 'prune-tokens-and-rate-windows',
  everyMs: CLEAN_EVERY_MS,
  async runOnce() {
    const expired = await tokens.deleteExpiredTokens(database, CLEAN_ROWS_MAX)
    const guests = await accounts.closeGuests(database, CLEAN_ROWS_MAX)
    const windows = await deleteExpiredWindows(database, CLEAN_ROWS_MAX)
    const links = await deleteExpiredLinks(database, CLEAN_ROWS_MAX)
    return [expired, guests, windows, links].includes(CLEAN_ROWS_MAX)
  },
})
