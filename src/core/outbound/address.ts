// Which addresses a request that somebody outside asked for may reach: public unicast, and what the owner of this
// deployment has opened. Everything else (loopback, private, link-local, shared, mapped, translated, reserved) is refused.
import ipaddr from 'ipaddr.js'

/** Public addresses that only answer inside a cloud: Azure's wire server. */
const METADATA = new Set(['168.63.129.16'])
const GLOBAL_V6 = ipaddr.IPv6.parseCIDR('2000::/3')

type Range = ReturnType<typeof ipaddr.parseCIDR>

/** Null: one of them is not a range, and it is named. */
export function parseRanges(cidrs: readonly string[]): { ranges: Range[] } | { wrong: string } {
  const wrong = cidrs.find((cidr) => !ipaddr.isValidCIDR(cidr))
  return wrong === undefined ? { ranges: cidrs.map((cidr) => ipaddr.parseCIDR(cidr)) } : { wrong }
}

export function isReachable(address: string, opened: readonly Range[]): boolean {
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.parse(address)
  const isOpened = opened.some((range) => range[0].kind() === parsed.kind() && parsed.match(range))
  return isOpened || (isPublic(parsed) && !METADATA.has(parsed.toString()))
}

/** A v4 address inside a v6 one (mapped, translated, tunnelled) is in a range of its own, and so refused. */
function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast') return false
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_V6)
}
