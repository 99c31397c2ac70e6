// The configured proxies (CAPTCHA_PROXIES). A task names one by its URL; the URL may hold a password, so that only a hash of it is
// stored and a form without the password is shown.
import { createHash } from 'node:crypto'

export interface Proxy {
  id: string
  url: string
  /** Without its password. */
  shown: string
}

export interface Proxies {
  /** Null: not a configured one. */
  find(url: string): Proxy | null
  byId(id: string | null): Proxy | null
}

export function openProxies(urls: readonly string[]): Proxies {
  const proxies = urls.map((url) => ({ id: idOf(url), url: new URL(url).href, shown: withoutPassword(url) }))
  return {
    find: (url) => (URL.canParse(url) ? (proxies.find((proxy) => proxy.url === new URL(url).href) ?? null) : null),
    byId: (id) => proxies.find((proxy) => proxy.id === id) ?? null,
  }
}

const idOf = (url: string): string => createHash('sha256').update(new URL(url).href).digest('hex').slice(0, 32)

function withoutPassword(text: string): string {
  const url = new URL(text)
  if (url.password !== '') url.password = '***'
  return url.href
}
