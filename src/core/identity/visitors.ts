// Registration by visitors: may be closed, and is limited per address. A /64 counts as one IPv6 address, since a single host
// owns that many. The limit lets a class behind one address register.
import ipaddr from 'ipaddr.js'
import type { Config } from '../config.ts'
import { refused, type Refused } from '../outcome.ts'
import type { RegisterAnswer, RegisterRequest } from './identity.ts'
import type { TakeRate } from './rate.ts'

/** In order of precedence. */
export type VisitorAnswer =
  | Refused<'registration_closed'>
  | (Refused<'rate_limited'> & { retryAfterSec: number })
  | RegisterAnswer

export interface VisitorRequest extends RegisterRequest {
  address: string
}

export interface VisitorDeps {
  config: Config
  takeRate: TakeRate
  register(request: RegisterRequest): Promise<RegisterAnswer>
}

export function openVisitors({ config, takeRate, register }: VisitorDeps) {
  const limit = { max: config.REGISTER_RATE_LIMIT_MAX, windowSec: config.REGISTER_RATE_LIMIT_WINDOW }

  return async ({ address, ...request }: VisitorRequest): Promise<VisitorAnswer> => {
    if (config.REGISTRATION === 'closed') return refused('registration_closed')
    const rate = await takeRate(`register:${networkOf(address)}`, limit)
    if (!rate.ok) return { ...refused('rate_limited'), retryAfterSec: rate.retryAfterSec }
    return register(request)
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
