// The session cookie of the console: a login token that scripts cannot read. It authenticates only requests of a page of the
// same origin, which browsers name with `Origin` or `Sec-Fetch-Site`: a page of another site cannot use it.
import type { FastifyRequest } from 'fastify'

const NAME = 'reeve_session'

export interface SessionCookieOptions {
  /** Secure unless this is an http URL. */
  publicUrl: string
}

export const sessionCookie = (token: string, maxAgeSec: number, { publicUrl }: SessionCookieOptions): string =>
  `${NAME}=${token}; Path=/; Max-Age=${maxAgeSec}; HttpOnly; SameSite=Strict${publicUrl.startsWith('http:') ? '' : '; Secure'}`

export const endedSessionCookie = (options: SessionCookieOptions): string => sessionCookie('', 0, options)

/** Null: no cookie, or a request that does not come from a page of this origin. */
export function tokenFromCookie(request: FastifyRequest): string | null {
  const { cookie } = request.headers
  if (cookie === undefined || !isSameOrigin(request)) return null
  const pair = cookie.split(';').find((part) => part.trim().startsWith(`${NAME}=`))
  return pair?.trim().slice(NAME.length + 1) ?? null
}

function isSameOrigin(request: FastifyRequest): boolean {
  if (request.headers.origin !== undefined) return request.server.origins.isSame(request)
  return request.headers['sec-fetch-site'] === 'same-origin'
}
