// Which browser pages may use the server. A page of the same origin may do everything. ALLOWED_ORIGINS opens CORS and
// WebSockets to pages of other origins, which authenticate with a token or a key; the session cookie is for the same origin
// only.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import { HttpError } from '../errors/http-error.ts'

const PREFLIGHT_HEADERS =
  'Accept-Language, Authorization, Content-Type, Idempotency-Key, Prefer, Traceparent, X-API-Key, X-Request-ID'
const EXPOSED_HEADERS = 'Allow, Location, Preference-Applied, Retry-After, X-Request-ID'
const PREFLIGHT_SEC = '600'

type OriginRequest = Pick<FastifyRequest, 'headers' | 'host' | 'protocol'>

export interface Origins {
  /** The page has the origin of this server, or of PUBLIC_URL. False without an Origin header. */
  isSame(request: OriginRequest): boolean
  /** The same origin, one of ALLOWED_ORIGINS, or no Origin header: such a request does not come from a page. */
  isAllowed(request: OriginRequest): boolean
  isListed(origin: string): boolean
}

export function openOrigins(config: Pick<Config, 'PUBLIC_URL' | 'ALLOWED_ORIGINS'>): Origins {
  const listed = new Set(config.ALLOWED_ORIGINS.map((origin) => originOf(origin) ?? origin))
  const publicOrigin = originOf(config.PUBLIC_URL)

  const isSame = ({ headers: { origin }, protocol, host }: OriginRequest): boolean => {
    const from = origin === undefined ? null : originOf(origin)
    return from !== null && (from === originOf(`${protocol}://${host}`) || from === publicOrigin)
  }
  return {
    isSame,
    isAllowed: (request) =>
      request.headers.origin === undefined || isSame(request) || listed.has(request.headers.origin),
    isListed: (origin) => listed.has(origin),
  }
}

/** Null for text that is no URL, and for opaque origins. */
function originOf(url: string): string | null {
  const origin = URL.canParse(url) ? new URL(url).origin : 'null'
  return origin === 'null' ? null : origin
}

/** Answers preflights and adds CORS headers for the origins in ALLOWED_ORIGINS. */
export function allowCors(app: FastifyInstance, methodsOf: (url: string) => readonly string[]): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    if (origin === undefined || !app.origins.isListed(origin)) return done()
    reply
      .header('access-control-allow-origin', origin)
      .header('vary', 'Origin')
      .header('access-control-expose-headers', EXPOSED_HEADERS)
      .header('cross-origin-resource-policy', 'cross-origin')
    const isPreflight = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
    if (!isPreflight || methodsOf(request.url).length === 0) return done()
    reply
      .code(204)
      .header('access-control-allow-methods', methodsOf(request.url).join(', '))
      .header('access-control-allow-headers', PREFLIGHT_HEADERS)
      .header('access-control-max-age', PREFLIGHT_SEC)
      .send()
  })
}

/** For requests that a page of another site must not send in a visitor's name, such as a login. */
export async function requireAllowedOrigin(request: FastifyRequest): Promise<void> {
  if (!request.server.origins.isAllowed(request)) throw new HttpError(403, 'forbidden', 'This origin may not do that.')
}
