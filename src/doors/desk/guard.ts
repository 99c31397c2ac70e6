// Who may do what at the desk. SCRAPER: a program that creates tasks and reads its own results. OPERATOR: a person who claims and
// solves. ADMIN: takes locks away, keeps the list of domains, reads the audit trail.
import type { FastifyRequest } from 'fastify'
import { accountOf, credentialOf, requireAccount, requireRole, type RequestGuard } from '../../core/http/auth/guard.ts'
import { requireSocket, requireUpgrade } from '../../core/http/auth/socket-auth.ts'
import type { Account } from '../../core/identity/accounts.ts'
import type { Role } from '../../core/identity/role.ts'
import type { Desk } from './desk.ts'
import { forbidden, tooMany } from './errors.ts'

const MINUTE = 60

/** The account of every request where CAPTCHA_AUTH is off. */
const ANYBODY: Account = {
  accountId: 0,
  username: 'anonymous',
  roles: ['SCRAPER', 'OPERATOR', 'ADMIN'],
  isActive: true,
  createdAt: new Date(0),
}

export type GuardParts = Pick<Desk, 'identity' | 'settings'>

/**
 * An account with one of these roles. With CAPTCHA_AUTH=off all requests share one account that has every role, so that nobody sees
 * less with a token than without; a token only gives the request a name.
 */
export function deskGuard({ identity, settings }: GuardParts, ...roles: readonly Role[]): RequestGuard {
  if (settings.CAPTCHA_AUTH === 'on') return requireRole(identity, ...roles)
  const known = requireAccount(identity)
  return async (request) => {
    if (credentialOf(request) !== null) await known(request)
    const username = credentialOf(request) === null ? ANYBODY.username : accountOf(request).username
    request.account = { ...ANYBODY, username }
  }
}

/** For what an operator changes: limited to a rate that a person, not a loop, would need. */
export function operatorGuard(parts: GuardParts, ...roles: readonly Role[]): RequestGuard {
  const known = deskGuard(parts, ...roles)
  const limit = { max: parts.settings.CAPTCHA_OPERATOR_RATE_LIMIT, windowSec: MINUTE }
  return async (request) => {
    await known(request)
    const account = accountOf(request)
    const who = isShared(account) ? `address ${request.ip}` : account.accountId
    const taken = await parts.identity.takeRate(`desk operator ${who}`, limit)
    if (!taken.ok) throw tooMany(taken.retryAfterSec)
  }
}

export function socketGuard(parts: GuardParts, ...roles: readonly Role[]): RequestGuard {
  const { identity, settings } = parts
  if (settings.CAPTCHA_AUTH === 'on') return requireSocket(identity, ...roles)
  const known = deskGuard(parts)
  return async (request) => {
    requireUpgrade(request)
    await known(request)
  }
}

const isShared = (account: Account): boolean => account.accountId === ANYBODY.accountId

export const has = (request: FastifyRequest, role: Role): boolean => accountOf(request).roles.includes(role)

/**
 * The operator is the account; another name is refused. With CAPTCHA_AUTH=off it is the given name, or that of the token; null stands
 * for whoever holds the task.
 */
export function operatorOf(request: FastifyRequest, named?: string): string | null {
  const account = accountOf(request)
  if (isShared(account)) return named ?? (account.username === ANYBODY.username ? null : account.username)
  if (named !== undefined && named !== account.username)
    throw forbidden('operator_id must be the name of the account that asks')
  return account.username
}

/** The operator whose work alone this account may see; null: everybody's. */
export const onlyOf = (request: FastifyRequest): string | null =>
  has(request, 'ADMIN') ? null : accountOf(request).username

/** For the audit trail. */
export function actorOf(request: FastifyRequest, operator?: string | null): string {
  const { username } = accountOf(request)
  return username === ANYBODY.username ? (operator ?? username) : username
}
