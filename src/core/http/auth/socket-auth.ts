// Authentication of WebSockets. A browser cannot set a header on a WebSocket, so that the token comes as a subprotocol:
// `Sec-WebSocket-Protocol: reeve.bearer, <token>`. Never in the query, which proxies log. A refused upgrade gets an HTTP
// response in the door's error format.
import type { FastifyRequest } from 'fastify'
import type { Identity } from '../../identity/identity.ts'
import type { Role } from '../../identity/role.ts'
import { requireAccount, requireRole, type RequestGuard } from './guard.ts'
import { HttpError } from '../errors/http-error.ts'

/** The guard of a WebSocket route: checks the upgrade, the origin and the account. No roles: any account. */
export function requireSocket(identity: Identity, ...roles: readonly Role[]): RequestGuard {
  const known = roles.length === 0 ? requireAccount(identity) : requireRole(identity, ...roles)
  return async (request) => {
    requireUpgrade(request)
    request.socketRoles = roles
    await known(request)
  }
}

/** Requires an upgrade from an allowed origin. */
export function requireUpgrade(request: FastifyRequest): void {
  if (!request.ws) {
    const headers = { upgrade: 'websocket', connection: 'Upgrade' }
    throw new HttpError(426, 'upgrade_required', 'This path speaks WebSocket.', { headers })
  }
  if (!request.server.origins.isAllowed(request)) throw new HttpError(403, 'forbidden', 'This origin may not connect.')
}
