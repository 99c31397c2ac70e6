// The solver frame: a page of the world, shown to the operator who holds its task, on another host name, in a sandbox that
// has no origin, through a proxy that fetches allowed domains only.
import { openOutbound } from '../../../core/outbound/outbound.ts'
import type { Desk } from '../desk.ts'
import { parseDomain } from '../domains/domain.ts'
import { mayBeFetched } from '../domains/domain-store.ts'
import { openCookieJar, type CookieJar } from './cookie-jar.ts'
import { openFetcher, type FetchPage } from './fetch-page.ts'
import { openImpersonator, type Impersonator } from './impersonate.ts'
import { openTickets, type Tickets } from './ticket.ts'
import { dialThrough } from './upstream-proxy.ts'

export interface Frame {
  tickets: Tickets
  jar: CookieJar
  fetchPage: FetchPage
  close(): Promise<void>
}

export function openFrame(desk: Desk): Frame {
  const { config, settings, database, sealer, proxies, log } = desk
  const outbound = openOutbound({ allowCidrs: config.OUTBOUND_ALLOW_CIDRS })
  const timeoutMs = settings.CAPTCHA_PROXY_TIMEOUT * 1000
  const mayFetch = async (host: string) => {
    const domain = parseDomain(host)
    return domain !== null && mayBeFetched(database, domain)
  }
  const dialOf = (way: string) => {
    const proxy = proxies.byId(way)
    return proxy === null ? null : dialThrough(proxy.url)
  }
  // Not before somebody opens a frame: most servers never do.
  let impersonator: Promise<Impersonator | null> | null = null
  const browser = settings.CAPTCHA_PROXY_IMPERSONATE
  const openOnce = () => (impersonator ??= openImpersonator({ browser, outbound, mayFetch, dialOf, timeoutMs, log }))

  return {
    tickets: openTickets(sealer),
    jar: openCookieJar(database, sealer),
    fetchPage: openFetcher({ outbound, mayFetch, proxies, impersonator: openOnce, timeoutMs }),
    async close() {
      await (await impersonator)?.close()
    },
  }
}
