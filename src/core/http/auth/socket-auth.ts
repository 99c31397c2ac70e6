// Who may open a WebSocket. A browser sends cookies and an Origin but cannot set a header, so that the token comes as a
// subprotocol: `Sec-WebSocket-Protocol: reeve.bearer, <token>`. Never in the query, which every proxy logs. The answer to
// a refused one is plain HTTP in the door's words, before the upgrade.
import type { FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import type { Identity } from '../../identity/identity.ts'
import type { Role } from '../../identity/role.ts'
import { requireAccount, requireRole, type Guard } from './guard.ts'
import { HttpError } from '../errors/http-error.ts'

export type SocketConfig = Pick<Config, 'PUBLIC_URL' | 'WS_ALLOWED_ORIGINS'>

/** The guard of a WebSocket route: an upgrade, from a page that may, by somebody who may. No roles: any account. */
export function requireSocket(identity: Identity, config: SocketConfig, ...roles: readonly Role[]): Guard {
  const known = roles.length === 0 ? requireAccount(identity) : requireRole(identity, ...roles)
  return async (request) => {
    requireUpgrade(request, config)
    await known(request)
  }
}

/** An upgrade, from a page that may. */
export function requireUpgrade(request: FastifyRequest, config: SocketConfig): void {
  if (!request.ws) {
    const headers = { upgrade: 'websocket', connection: 'Upgrade' }
    throw new HttpError(426, 'upgrade_required', 'This path speaks WebSocket.', { headers })
  }
  if (!isAllowedOrigin(request, config)) throw new HttpError(403, 'forbidden', 'This origin may not connect.')
}

/** Without an Origin it is not a browser, and no page can be misusing somebody's. */
export function isAllowedOrigin(request: Pick<FastifyRequest, 'headers' | 'host'>, config: SocketConfig): boolean {
  const { origin } = request.headers
  if (origin === undefined) return true
  if (config.WS_ALLOWED_ORIGINS.includes(origin)) return true
  const from = parseUrl(origin)
  if (from === null) return false
  return from.host === request.host.toLowerCase() || from.origin === parseUrl(config.PUBLIC_URL)?.origin
}

const parseUrl = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null)
