// A browser's handshake, for allowed domains: some sites answer a plain client with another page than their users get. The
// package is optional; without it pages are fetched by a plain client. It opens its own connections, and therefore goes through
// the checked proxy.
import type { Logger } from 'pino'
import { refused, type Refused } from '../../../core/values/outcome.ts'
import { openCheckedProxy, type CheckedProxy, type CheckedProxyOptions } from './checked-proxy.ts'
import type { PageAnswer, PageRefusal } from './fetch-page.ts'

export interface ImpersonatedRequest {
  url: URL
  method: string
  headers: Readonly<Record<string, string>>
  body: Buffer
  /** `direct`, or the id of a configured proxy. */
  way: string
  timeoutMs: number
  bytesMax: number
}

export interface Impersonator {
  fetch(request: ImpersonatedRequest): Promise<PageAnswer | Refused<PageRefusal>>
  close(): Promise<void>
}

export interface ImpersonatorOptions extends CheckedProxyOptions {
  browser: string
  log: Logger
  /** Tests speak to a server whose certificate nobody has signed. */
  ignoreTlsErrors?: boolean
}

/** Null: none is wanted, or the package is not installed. */
export async function openImpersonator(options: ImpersonatorOptions): Promise<Impersonator | null> {
  const { browser, log, ignoreTlsErrors = false } = options
  if (browser === 'none') return null
  const impit = await import('impit').catch(() => null)
  if (impit === null) {
    log.info('impit is not installed: pages of the frame are fetched without a browser’s handshake')
    return null
  }
  const proxy: CheckedProxy = await openCheckedProxy(options)
  const clients = new Map<string, InstanceType<typeof impit.Impit>>()
  const clientFor = (way: string) => {
    const known = clients.get(way)
    if (known !== undefined) return known
    const settings: object = { browser, proxyUrl: proxy.urlFor(way), followRedirects: false, ignoreTlsErrors }
    const client = new impit.Impit(settings)
    clients.set(way, client)
    return client
  }
  try {
    clientFor('direct') // a browser that it does not know is told at the start
  } catch (error) {
    await proxy.close()
    log.warn(
      { err: error },
      'CAPTCHA_PROXY_IMPERSONATE names no browser that impit knows: pages are fetched without impersonation',
    )
    return null
  }

  return {
    async fetch({ url, method, headers, body, way, timeoutMs, bytesMax }) {
      const signal = AbortSignal.timeout(timeoutMs)
      try {
        const answer = await clientFor(way).fetch(url.href, {
          method: method === 'POST' ? 'POST' : method === 'HEAD' ? 'HEAD' : 'GET',
          headers,
          ...(body.length === 0 ? {} : { body }),
          timeout: 2 * timeoutMs, // its own ends in an error like any other: the signal is first, and tells
          redirect: 'manual',
          signal,
        })
        const bytes = await readUpTo(answer.body, bytesMax)
        if (bytes === null) return refused('answer_too_large')
        // What was compressed has been unpacked.
        const given = new Map([...answer.headers].filter(([name]) => name !== 'content-encoding'))
        return {
          ok: true,
          status: answer.status,
          headers: given,
          setCookies: answer.headers.getSetCookie(),
          body: bytes,
        }
      } catch {
        return refused(signal.aborted ? 'timed_out' : 'network_error')
      }
    },
    close: () => proxy.close(),
  }
}

/** Null: it is more. */
async function readUpTo(stream: ReadableStream<Uint8Array>, bytesMax: number): Promise<Buffer | null> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  const reader = stream.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return Buffer.concat(chunks)
    bytes += value.length
    chunks.push(value)
    if (bytes <= bytesMax) continue
    await reader.cancel()
    return null
  }
}
