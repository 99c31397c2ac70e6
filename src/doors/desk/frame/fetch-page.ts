// One request of the frame to a site: only to a domain on the list, only to an address that the outgoing guard allows, within the limits
// of time and size.
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import type { Outbound, OutboundRefusal } from '../../../core/outbound/outbound.ts'
import { refused, type Refused } from '../../../core/values/outcome.ts'
import type { Proxies } from '../domains/proxies.ts'
import type { Impersonator } from './impersonate.ts'
import { dialThrough } from './upstream-proxy.ts'

const PAGE_BYTES_MAX = 10 * 1024 * 1024

export interface FetchRequest {
  url: URL
  method: string
  headers: Readonly<Record<string, string>>
  body: Buffer
  proxyId: string | null
}

export interface PageAnswer {
  ok: true
  status: number
  headers: ReadonlyMap<string, string>
  setCookies: readonly string[]
  body: Buffer
}

/** In order of precedence. */
export type PageRefusal = 'domain_not_authorised' | 'unknown_proxy' | OutboundRefusal | 'unreadable'

export interface FetcherOptions {
  outbound: Outbound
  mayFetch(domain: string): Promise<boolean>
  proxies: Proxies
  impersonator: () => Promise<Impersonator | null>
  timeoutMs: number
}

export type FetchPage = (request: FetchRequest) => Promise<PageAnswer | Refused<PageRefusal>>

export function openFetcher({ outbound, mayFetch, proxies, impersonator, timeoutMs }: FetcherOptions): FetchPage {
  return async (request) => {
    const { url, method, headers, body, proxyId } = request
    if (!(await mayFetch(url.host))) return refused('domain_not_authorised')
    const proxy = proxies.byId(proxyId)
    if (proxyId !== null && proxy === null) return refused('unknown_proxy')

    const asBrowser = url.protocol === 'https:' ? await impersonator() : null
    if (asBrowser !== null) {
      // The guard is asked first, so that its refusal is not reported as a failed connection.
      const checked = await outbound.check(url.href, { signal: AbortSignal.timeout(timeoutMs) })
      if (!checked.ok) return checked
      return asBrowser.fetch({ ...request, way: proxyId ?? 'direct', timeoutMs, bytesMax: PAGE_BYTES_MAX })
    }
    const answer = await outbound.request({
      url: url.href,
      method,
      headers: { ...headers, 'accept-encoding': 'gzip, deflate, br' },
      body,
      timeoutMs,
      bytesMax: PAGE_BYTES_MAX,
      ...(proxy === null ? {} : { dial: dialThrough(proxy.url) }),
    })
    if (!answer.ok) return answer
    const unpacked = await unpack(answer.body, answer.headers['content-encoding'] ?? '')
    if (unpacked === null) return refused('unreadable')
    const given = Object.entries(answer.headers).flatMap(([name, value]) =>
      typeof value === 'string' && name !== 'content-encoding' ? [[name, value] as const] : [],
    )
    const setCookies = answer.headers['set-cookie'] ?? []
    return { ok: true, status: answer.status, headers: new Map(given), setCookies, body: unpacked }
  }
}

const LIMIT = { maxOutputLength: PAGE_BYTES_MAX }

/** Null: it is not in the encoding that it names, or too large. */
async function unpack(bytes: Buffer, encoding: string): Promise<Buffer | null> {
  if (bytes.length === 0) return bytes
  try {
    switch (encoding.trim().toLowerCase()) {
      case '':
      case 'identity':
        return bytes
      case 'gzip':
      case 'x-gzip':
        return await promisify(gunzip)(bytes, LIMIT)
      case 'deflate':
        return await promisify(inflate)(bytes, LIMIT)
      case 'br':
        return await promisify(brotliDecompress)(bytes, LIMIT)
      default:
        return null
    }
  } catch {
    return null
  }
}
