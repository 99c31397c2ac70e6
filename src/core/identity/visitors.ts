// Registration by visitors: may be closed, and is limited per address. A /64 counts as one IPv6 address, since a single host
// owns that many. The limit lets a class behind one address register.
import ipaddr from 'ipaddr.js'
import type { Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { refused, type Refused } from '../values/outcome.ts'
import type { RegisterAnswer, RegisterRequest } from './identity.ts'
import { hasGuestName, insertGuest, type Account } from './accounts.ts'
import type { LoggedIn } from './login.ts'
import type { TakeRate } from './rate.ts'
import { extendGuestTokens, GUEST_TTL_SEC, issueToken, type LoginOrigin } from './tokens.ts'

/** In order of precedence. */
export type VisitorRefusal = Refused<'registration_closed'> | (Refused<'rate_limited'> & { retryAfterSec: number })
export type VisitorAnswer = VisitorRefusal | RegisterAnswer
export type GuestAnswer = VisitorRefusal | Refused<'duplicate_user'> | LoggedIn

export interface VisitorRequest extends RegisterRequest {
  address: string
}

export interface VisitorDeps {
  config: Config
  database: Database
  takeRate: TakeRate
  register(request: RegisterRequest): Promise<RegisterAnswer>
}

export function openVisitors({ config, database, takeRate, register }: VisitorDeps) {
  const limit = { max: config.REGISTER_RATE_LIMIT_MAX, windowSec: config.REGISTER_RATE_LIMIT_WINDOW }

  const admit = async (address: string): Promise<VisitorRefusal | null> => {
    if (config.REGISTRATION === 'closed') return refused('registration_closed')
    const rate = await takeRate(`register:${networkOf(address)}`, limit)
    return rate.ok ? null : { ...refused('rate_limited'), retryAfterSec: rate.retryAfterSec }
  }
  return {
    async keepGuest({ accountId, username }: Pick<Account, 'accountId' | 'username'>): Promise<void> {
      if (hasGuestName(username)) await extendGuestTokens(database, accountId)
    },
    register: async ({ address, ...request }: VisitorRequest): Promise<VisitorAnswer> =>
      (await admit(address)) ?? register(request),
    async guest({ address, userAgent = '' }: LoginOrigin & { address: string }): Promise<GuestAnswer> {
      const refusal = await admit(address)
      if (refusal !== null) return refusal
      const account = await insertGuest(database)
      if (account === null) return refused('duplicate_user')
      const ttlSec = GUEST_TTL_SEC
      const issued = await issueToken(database, { accountId: account.accountId, ttlSec, address, userAgent })
      if (issued === null) throw new Error('A new guest got no token.')
      return { ok: true, ...issued, expiresInSec: ttlSec, account }
    },
  }
}

/** The address, or the /64 of an IPv6 address. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString()
}
