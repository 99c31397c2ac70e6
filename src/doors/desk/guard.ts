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

/** The caller of a request without a credential where CAPTCHA_AUTH is off. */
const ANYBODY: Account = {
  accountId: 0,
  username: 'anonymous',
  roles: ['SCRAPER', 'OPERATOR', 'ADMIN'],
  isActive: true,
  createdAt: new Date(0),
}

const isAnybody = (account: Account): boolean => account.accountId === ANYBODY.accountId

export type GuardParts = Pick<Desk, 'identity' | 'settings'>

/** An account with one of these roles. With CAPTCHA_AUTH=off, a credential still says who it is. */
export function deskGuard({ identity, settings }: GuardParts, ...roles: readonly Role[]): RequestGuard {
  if (settings.CAPTCHA_AUTH === 'on') return requireRole(identity, ...roles)
  const known = requireAccount(identity)
  return async (request) => {
    if (credentialOf(request) === null) request.account = ANYBODY
    else await known(request)
  }
}

/** For what an operator changes: limited to a rate that a person, not a loop, would need. */
export function operatorGuard(deps: GuardParts, ...roles: readonly Role[]): RequestGuard {
  const known = deskGuard(deps, ...roles)
  const limit = { max: deps.settings.CAPTCHA_OPERATOR_RATE_LIMIT, windowSec: MINUTE }
  return async (request) => {
    await known(request)
    const taken = await deps.identity.takeRate(`desk operator ${accountOf(request).accountId}`, limit)
    if (!taken.ok) throw tooMany(taken.retryAfterSec)
  }
}

export function socketGuard(deps: GuardParts, ...roles: readonly Role[]): RequestGuard {
  const { identity, settings } = deps
  if (settings.CAPTCHA_AUTH === 'on') return requireSocket(identity, ...roles)
  const known = deskGuard(deps)
  return async (request) => {
    requireUpgrade(request)
    await known(request)
  }
}

export const has = (request: FastifyRequest, role: Role): boolean =>
  accountOf(request).roles.includes(role) || isAnybody(accountOf(request))

/**
 * The operator is the account; another name is refused. For a request without a credential (CAPTCHA_AUTH=off) it is the given name,
 * and null stands for whoever holds the task.
 */
export function operatorOf(request: FastifyRequest, named?: string): string | null {
  const account = accountOf(request)
  if (isAnybody(account)) return named ?? null
  if (named !== undefined && named !== account.username)
    throw forbidden('operator_id must be the name of the account that asks')
  return account.username
}

/** For the audit trail. */
export const actorOf = (request: FastifyRequest, operator?: string | null): string =>
  isAnybody(accountOf(request)) ? (operator ?? ANYBODY.username) : accountOf(request).username
