import { timingSafeEqual } from 'node:crypto'
import { hashSecret } from '../../identity/secrets.ts'
import { HttpError } from '../errors/http-error.ts'
import type { RequestGuard } from './guard.ts'

const BEARER = /^Bearer +(\S+) *$/i

/** Requires a bearer token from the settings. An empty token lets everybody in. */
export const requireStaticToken =
  (token: string): RequestGuard =>
  async (request) => {
    if (token === '') return
    const given = BEARER.exec(request.headers.authorization ?? '')?.[1] ?? ''
    if (!isSameSecret(given, token))
      throw new HttpError(401, 'unauthorized', 'Invalid token', { headers: { 'www-authenticate': 'Bearer' } })
  }

/** In constant time. */
export const isSameSecret = (a: string, b: string): boolean => timingSafeEqual(hashSecret(a), hashSecret(b))
