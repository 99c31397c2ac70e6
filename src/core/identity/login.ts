// The login behind /auth/login and /api/auth/login. The rate limit comes first and counts successes too; an unknown name
// takes as long as a wrong password.
import { createHash } from 'node:crypto'
import type { Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { refused, type Refused } from '../values/outcome.ts'
import { findAccount, type Account } from './accounts.ts'
import { writeAudit } from './audit.ts'
import { isPassword, type Passwords } from './passwords/password.ts'
import type { RateLimit, TakeRate } from './rate.ts'
import { issueToken } from './tokens.ts'
import { isUsername, usernameKey } from './username.ts'

export interface LoginRequest {
  username: string
  password: string
  /** The client's address. */
  address: string
  userAgent?: string
}

export interface LoggedIn {
  ok: true
  token: string
  expiresAt: Date
  expiresInSec: number
  account: Account
}

/** In order of precedence. */
export type LoginAnswer =
  | LoggedIn
  | (Refused<'rate_limited'> & { retryAfterSec: number })
  | Refused<'invalid_credentials'>

export interface LoginDeps {
  database: Database
  passwords: Passwords
  takeRate: TakeRate
  config: Config
}

export const loginLimit = (config: Config): RateLimit => ({
  max: config.LOGIN_RATE_LIMIT_MAX,
  windowSec: config.LOGIN_RATE_LIMIT_WINDOW,
})

export function openLogin({ database, passwords, takeRate, config }: LoginDeps) {
  const limit = loginLimit(config)
  const ttlSec = config.AUTH_TOKEN_TTL_SECONDS

  return async ({ username, password, address, userAgent = '' }: LoginRequest): Promise<LoginAnswer> => {
    const rate = await takeRate(loginBucket(username, address), limit)
    if (!rate.ok) return { ...refused('rate_limited'), retryAfterSec: rate.retryAfterSec }

    const isPossible = isUsername(username) && isPassword(password)
    const found = isPossible ? await findAccount(database, username) : null
    const matches = await passwords.verify(found?.passwordHash ?? null, isPossible ? password : '')
    if (found === null) return refused('invalid_credentials')

    const { account, passwordHash } = found
    const { accountId } = account
    const issued = matches ? await issueToken(database, { accountId, ttlSec, passwordHash, address, userAgent }) : null
    await writeAudit(database, { accountId, event: issued === null ? 'sign_in_failed' : 'signed_in', address })
    if (issued === null) return refused('invalid_credentials')
    return { ok: true, ...issued, expiresInSec: ttlSec, account }
  }
}

/** Hashed, so that a bucket has a fixed length and the table contains no names. */
export const loginBucket = (username: string, address: string): string =>
  `login:${createHash('sha256')
    .update(`${usernameKey(username)}\n${address}`)
    .digest('hex')}`
