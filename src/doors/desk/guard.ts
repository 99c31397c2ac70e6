// Who may do what at the desk. SCRAPER: a program that creates tasks and reads what came of its own. OPERATOR: a person who
// claims and solves. ADMIN: takes locks away, keeps the list of domains, reads the trail.
import type { FastifyRequest } from 'fastify'
import { accountOf, credentialOf, requireAccount, requireRole, type Guard } from '../../core/http/auth/guard.ts'
import { requireSocket, requireUpgrade } from '../../core/http/auth/socket-auth.ts'
import type { Account } from '../../core/identity/accounts.ts'
import type { Role } from '../../core/identity/role.ts'
import type { Desk } from './desk.ts'
import { forbidden, tooMany } from './errors.ts'

const MINUTE = 60

/** Who asks where nobody is asked who they are (CAPTCHA_AUTH=off). */
const ANYBODY: Account = {
  accountId: 0,
  username: 'anonymous',
  roles: ['SCRAPER', 'OPERATOR', 'ADMIN'],
  isActive: true,
  createdAt: new Date(0),
}

const isAnybody = (account: Account): boolean => account.accountId === ANYBODY.accountId

type GuardDeps = Pick<Desk, 'identity' | 'settings' | 'config'>

/** Somebody with one of these roles. Where the door is open to all, a credential still says who it is. */
export function deskGuard({ identity, settings }: GuardDeps, ...roles: readonly Role[]): Guard {
  if (settings.CAPTCHA_AUTH === 'on') return requireRole(identity, ...roles)
  const known = requireAccount(identity)
  return async (request) => {
    if (credentialOf(request) === null) request.account = ANYBODY
    else await known(request)
  }
}

/** For what an operator changes: as often as a person can, and not as fast as a loop. */
export function operatorGuard(deps: GuardDeps, ...roles: readonly Role[]): Guard {
  const known = deskGuard(deps, ...roles)
  const limit = { max: deps.settings.CAPTCHA_OPERATOR_RATE_LIMIT, windowSec: MINUTE }
  return async (request) => {
    await known(request)
    const taken = await deps.identity.takeRate(`desk operator ${accountOf(request).accountId}`, limit)
    if (!taken.ok) throw tooMany(taken.retryAfterSec)
  }
}

export function socketGuard(deps: GuardDeps, ...roles: readonly Role[]): Guard {
  const { identity, settings, config } = deps
  if (settings.CAPTCHA_AUTH === 'on') return requireSocket(identity, config, ...roles)
  const known = deskGuard(deps)
  return async (request) => {
    requireUpgrade(request, config)
    await known(request)
  }
}

export const has = (request: FastifyRequest, role: Role): boolean =>
  accountOf(request).roles.includes(role) || isAnybody(accountOf(request))

/**
 * The operator is the account; another name is refused. Where nobody is asked who they are, the name that is given is
 * believed, and null means whoever holds the task.
 */
export function operatorOf(request: FastifyRequest, named?: string): string | null {
  const account = accountOf(request)
  if (isAnybody(account)) return named ?? null
  if (named !== undefined && named !== account.username)
    throw forbidden('operator_id must be the name of the account that asks')
  return account.username
}

/** For the trail. */
export const actorOf = (request: FastifyRequest, operator?: string | null): string =>
  isAnybody(accountOf(request)) ? (operator ?? ANYBODY.username) : accountOf(request).username
