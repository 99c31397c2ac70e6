// The signature of the challenge door with node:crypto: both sides of the protocol use this file.
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { AUTH_SCHEME, canonicalLines, SIG, type SignedParts } from './signed-text.ts'

export { AUTH_SCHEME, parseAuthorization, signedPath, type AuthFields, type SignedParts } from './signed-text.ts'

export const bodyHash = (body: string | Uint8Array): string => hash('sha256', body, 'hex')

export const canonicalString = (parts: SignedParts): string =>
  canonicalLines(parts, isHash(parts.body) ? parts.body.hash : bodyHash(parts.body)).join('\n')

const isHash = (body: SignedParts['body']): body is { hash: string } => typeof body === 'object' && 'hash' in body

export const signature = (secret: string, parts: SignedParts): string =>
  createHmac('sha256', secret).update(canonicalString(parts)).digest('hex')

/** The value of the Authorization header. */
export function authorization(key: { keyId: string; secret: string }, parts: SignedParts): string {
  return `${AUTH_SCHEME} keyId=${key.keyId},ts=${parts.ts},nonce=${parts.nonce},sig=${signature(key.secret, parts)}`
}

/** Compares in constant time. The caller checks `ts` and `nonce`. */
export function isSignedWith(secret: string, sig: string, parts: SignedParts): boolean {
  if (!SIG.test(sig)) return false
  return timingSafeEqual(Buffer.from(signature(secret, parts), 'hex'), Buffer.from(sig, 'hex'))
}

export interface WebhookParts {
  id: string
  /** Unix seconds. */
  ts: number
  body: string | Uint8Array
}

/**
 * The headers of Standard Webhooks, so that stock libraries can verify a callback with the same secret. During a rotation
 * there are several secrets, and a signature for each.
 */
export function webhookHeaders(secrets: readonly string[], { id, ts, body }: WebhookParts): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const sig = createHmac('sha256', secret).update(`${id}.${ts}.`).update(body).digest('base64')
    return `v1,${sig}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': String(ts), 'webhook-signature': signatures.join(' ') }
}
