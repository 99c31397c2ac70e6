// Guards are onRequest hooks: authentication and role are checked before the body is read, so that an unauthorized caller
// learns nothing about how its body would be validated.
import assert from 'node:assert/strict'
import type { FastifyRequest } from 'fastify'
import type { Account } from '../../identity/accounts.ts'
import type { Identity } from '../../identity/identity.ts'
import type { Role } from '../../identity/role.ts'
import type { Credential } from '../../identity/secrets.ts'
import { tokenFromProtocols } from './bearer-protocol.ts'
import { tokenFromCookie } from './session-cookie.ts'
import { HttpError } from '../errors/http-error.ts'

export type RequestGuard = (request: FastifyRequest) => Promise<void>

const BEARER = /^Bearer +(\S+) *$/i

export const notSignedIn = (): HttpError =>
  new HttpError(401, 'unauthorized', 'Invalid token', { headers: { 'www-authenticate': 'Bearer' } })

/** Requires any account. */
export const requireAccount =
  (identity: Identity): RequestGuard =>
  async (request) => {
    const credential = credentialOf(request)
    const account = credential === null ? null : await identity.authenticate(credential)
    if (account === null) throw notSignedIn()
    request.account = account
    request.credential = credential
  }

/** Requires at least one of these roles. */
export function requireRole(identity: Identity, ...roles: readonly Role[]): RequestGuard {
  const signedIn = requireAccount(identity)
  return async (request) => {
    await signedIn(request)
    if (!roles.some((role) => accountOf(request).roles.includes(role))) {
      throw new HttpError(403, 'forbidden', 'Insufficient role')
    }
  }
}

/** Whose what the request makes is. Null: nobody's, a command on the server's machine made it. */
export const ownerIdOf = (request: FastifyRequest): number | null => accountOf(request).accountId || null

/** The authenticated account, after a guard. */
export function accountOf(request: FastifyRequest): Account {
  assert(request.account !== null, 'A route that uses the account must have a guard.')
  return request.account
}

/** In order of precedence: bearer token, API key, a WebSocket's subprotocol, session cookie. */
export function credentialOf(request: FastifyRequest): Credential | null {
  const { authorization } = request.headers
  if (authorization !== undefined) {
    const token = BEARER.exec(authorization)?.[1]
    return token === undefined ? null : { kind: 'token', secret: token }
  }
  const key = request.headers['x-api-key']
  if (typeof key === 'string') return { kind: 'api_key', secret: key }
  const token = request.ws ? tokenFromProtocols(request.headers['sec-websocket-protocol']) : null
  if (token !== null) return { kind: 'token', secret: token }
  const secret = tokenFromCookie(request)
  return secret === null ? null : { kind: 'token', secret, isCookie: true }
}
