// Authentication of WebSockets. A browser cannot set a header on a WebSocket, so that the token comes as a subprotocol:
// `Sec-WebSocket-Protocol: reeve.bearer, <token>`. Never in the query, which proxies log. A refused upgrade gets an HTTP
// response in the door's error format.
import type { FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import type { Identity } from '../../identity/identity.ts'
import type { Role } from '../../identity/role.ts'
import { requireAccount, requireRole, type Guard } from './guard.ts'
import { HttpError } from '../errors/http-error.ts'

export type SocketConfig = Pick<Config, 'PUBLIC_URL' | 'WS_ALLOWED_ORIGINS'>

/** The guard of a WebSocket route: checks the upgrade, the origin and the account. No roles: any account. */
export function requireSocket(identity: Identity, config: SocketConfig, ...roles: readonly Role[]): Guard {
  const known = roles.length === 0 ? requireAccount(identity) : requireRole(identity, ...roles)
  return async (request) => {
    requireUpgrade(request, config)
    await known(request)
  }
}

/** Requires an upgrade from an allowed origin. */
export function requireUpgrade(request: FastifyRequest, config: SocketConfig): void {
  if (!request.ws) {
    const headers = { upgrade: 'websocket', connection: 'Upgrade' }
    throw new HttpError(426, 'upgrade_required', 'This path speaks WebSocket.', { headers })
  }
  if (!isAllowedOrigin(request, config)) throw new HttpError(403, 'forbidden', 'This origin may not connect.')
}

/** A request without an Origin does not come from a browser page. */
export function isAllowedOrigin(request: Pick<FastifyRequest, 'headers' | 'host'>, config: SocketConfig): boolean {
  const { origin } = request.headers
  if (origin === undefined) return true
  if (config.WS_ALLOWED_ORIGINS.includes(origin)) return true
  const from = parseUrl(origin)
  if (from === null) return false
  return from.host === request.host.toLowerCase() || from.origin === parseUrl(config.PUBLIC_URL)?.origin
}

const parseUrl = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null)
