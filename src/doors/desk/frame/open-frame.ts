// The solver frame: the page of a task, shown to the operator who holds the task, on another host name, in a sandbox without an
// origin, through a proxy that fetches allowed domains only.
import type { Outbound } from '../../../core/outbound/outbound.ts'
import { Semaphore } from '../../../core/concurrency/semaphore.ts'
import type { Desk } from '../desk.ts'
import { parseDomain } from '../domains/domain.ts'
import { mayBeFetched } from '../domains/domain-store.ts'
import { openCookieJar, type CookieJar } from './cookie-jar.ts'
import { openFetcher, type FetchPage } from './fetch-page.ts'
import { openImpersonator, type Impersonator } from './impersonate.ts'
import { openTickets, type Tickets } from './ticket.ts'
import { dialThrough } from './upstream-proxy.ts'

const PAGES_AT_ONCE_MAX = 32

export interface Frame {
  tickets: Tickets
  jar: CookieJar
  fetchPage: FetchPage
  /** How many pages are fetched and rewritten at once; one more is refused. */
  pages: Semaphore
  close(): Promise<void>
}

export function openFrame({
  outbound,
  settings,
  database,
  sealer,
  proxies,
  log,
}: Pick<Desk, 'settings' | 'database' | 'sealer' | 'proxies' | 'log'> & { outbound: Outbound }): Frame {
  const timeoutMs = settings.CAPTCHA_PROXY_TIMEOUT * 1000
  const mayFetch = async (host: string) => {
    const domain = parseDomain(host)
    return domain !== null && mayBeFetched(database, domain)
  }
  const dialOf = (way: string) => {
    const proxy = proxies.byId(way)
    return proxy === null ? null : dialThrough(proxy.url)
  }
  // Opened with the first frame: most servers never show one.
  let impersonator: Promise<Impersonator | null> | null = null
  const browser = settings.CAPTCHA_PROXY_IMPERSONATE
  const openOnce = () => (impersonator ??= openImpersonator({ browser, outbound, mayFetch, dialOf, timeoutMs, log }))

  return {
    tickets: openTickets(sealer),
    jar: openCookieJar(database, sealer),
    fetchPage: openFetcher({ outbound, mayFetch, proxies, impersonator: openOnce, timeoutMs }),
    pages: new Semaphore({ permits: PAGES_AT_ONCE_MAX, waitingMax: 0 }),
    async close() {
      await (await impersonator)?.close()
    },
  }
}
