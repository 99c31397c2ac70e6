// What goes with a request to the world, and what comes back with the page. Both are short lists of what is let through:
// no cookie, no token and no address of the console goes out, and no cookie, policy or redirect comes in by itself.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../../../core/config.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'

const SENT_ON = ['accept', 'accept-language', 'content-type', 'cache-control', 'pragma'] as const
const GIVEN_BACK = ['content-type', 'content-language'] as const

export interface FrameHosts {
  /** Where pages of strangers are shown. */
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

/** By the name alone: the port is the same server's. */
export const isFrameHost = (request: FastifyRequest, frameHost: string): boolean =>
  request.hostname.toLowerCase() === frameHost.replace(/:\d+$/, '')

/**
 * A script of a page can reach the host that it came from, whatever the policy: there the desk has its pages and nothing
 * else, so that it is not even to be trusted that nobody is asked who they are (CAPTCHA_AUTH=off).
 */
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

/** For everything that the frame's host says. Only here a page may be framed, and its own say in it does not count. */
export function isolate(reply: FastifyReply, hosts: FrameHosts, options: { isInner: boolean }): void {
  const policy = [
    'sandbox allow-scripts allow-forms',
    // A frame inside the page has the page for a parent, which is nobody's origin. Its ticket is what keeps others out.
    ...(options.isInner ? [] : [`frame-ancestors ${hosts.console.join(' ')}`]),
    `default-src ${hosts.frame} data: blob: 'unsafe-inline' 'unsafe-eval'`,
    `form-action ${hosts.frame}`,
    `base-uri ${hosts.frame}`,
  ]
  reply
    .removeHeader('x-frame-options')
    .header('content-security-policy', policy.join('; '))
    .header('cross-origin-resource-policy', 'cross-origin')
    .header('access-control-allow-origin', '*') // its pages are nobody's origin; the ticket is the credential
    .header('referrer-policy', 'no-referrer')
    .header('cache-control', 'no-store')
}

export function giveBack(reply: FastifyReply, headers: ReadonlyMap<string, string>): void {
  for (const name of GIVEN_BACK) {
    const value = headers.get(name)
    if (value !== undefined && /^[\x20-\x7e]{1,200}$/.test(value)) reply.header(name, value)
  }
}
