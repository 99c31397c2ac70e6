// Headers of requests to a site and of its answers. Both are allow-lists: no cookie, token or address of the console goes out, and no
// cookie, policy or redirect of the site comes in.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../../core/config.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'

const SENT_ON = ['accept', 'accept-language', 'content-type', 'cache-control', 'pragma'] as const
const GIVEN_BACK = ['content-type', 'content-language'] as const

export interface FrameHosts {
  /** Where pages of tasks are shown. */
  frame: string
  /** Who may show the frame. */
  console: readonly string[]
}

export function hostsOf(request: FastifyRequest, frameHost: string, config: Pick<Config, 'PUBLIC_URL'>): FrameHosts {
  const known = URL.canParse(config.PUBLIC_URL) ? new URL(config.PUBLIC_URL) : null
  const protocol = known?.protocol ?? `${request.protocol}:`
  const port = known === null ? (/:\d+$/.exec(request.host)?.[0] ?? '') : known.port === '' ? '' : `:${known.port}`
  const hasPort = /:\d+$/.test(frameHost)
  return {
    frame: `${protocol}//${frameHost}${hasPort ? '' : port}`,
    console: known === null ? [`${protocol}//localhost${port}`, `${protocol}//127.0.0.1${port}`] : [known.origin],
  }
}

/** By the name alone: all ports are this server's. */
export const isFrameHost = (request: FastifyRequest, frameHost: string): boolean =>
  request.hostname.toLowerCase() === frameHost.replace(/:\d+$/, '')

/** A script of a page can reach the host that it came from, whatever the policy: that host answers pages and nothing else. */
export const refuseAtFrameHost = (frameHost: string) => async (request: FastifyRequest) => {
  if (isFrameHost(request, frameHost)) throw new HttpError(404, 'not_found', 'Not Found')
}

export function sentHeaders(
  request: FastifyRequest,
  url: URL,
  { userAgent, cookie }: { userAgent: string | null; cookie: string },
): Record<string, string> {
  const kept = SENT_ON.flatMap((name) => {
    const value = request.headers[name]
    return typeof value === 'string' ? [[name, value] as const] : []
  })
  return {
    ...Object.fromEntries(kept),
    host: url.host,
    'user-agent': userAgent ?? request.headers['user-agent'] ?? 'Mozilla/5.0',
    ...(request.method === 'POST' ? { origin: url.origin, referer: url.href } : {}),
    ...(cookie === '' ? {} : { cookie }),
  }
}

/** For every answer of the frame's host. Only here a page may be framed; the site's own policy is dropped. */
export function isolate(reply: FastifyReply, hosts: FrameHosts, options: { isInner: boolean }): void {
  const policy = [
    'sandbox allow-scripts allow-forms',
    // The parent of a frame inside the page is the page, which has an opaque origin. The cookie keeps others out.
    ...(options.isInner ? [] : [`frame-ancestors ${hosts.console.join(' ')}`]),
    `default-src ${hosts.frame} data: blob: 'unsafe-inline' 'unsafe-eval'`,
    `form-action ${hosts.frame}`,
    `base-uri ${hosts.frame}`,
  ]
  reply
    .removeHeader('x-frame-options')
    .header('content-security-policy', policy.join('; '))
    .header('cross-origin-resource-policy', 'cross-origin')
    .header('access-control-allow-origin', 'null') // its pages have an opaque origin
    .header('access-control-allow-credentials', 'true')
    .header('referrer-policy', 'no-referrer')
    .header('cache-control', 'no-store')
}

export function giveBack(reply: FastifyReply, headers: ReadonlyMap<string, string>): void {
  for (const name of GIVEN_BACK) {
    const value = headers.get(name)
    if (value !== undefined && /^[\x20-\x7e]{1,200}$/.test(value)) reply.header(name, value)
  }
}
