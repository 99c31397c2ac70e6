// Keys and receipts of the pool with the platform's WebCrypto: for browsers, and whatever else has no node:crypto.
import { canonicalJson } from '../canonical-json.ts'
import type { Receipt } from './receipts.ts'
import type { PrivateKey } from './signing.ts'

const ED25519 = { name: 'Ed25519' } as const

/** Creates a worker's key. Null: the platform cannot create one (an old browser, or a page that came over plain HTTP). */
export async function generateWebKey(): Promise<PrivateKey | null> {
  try {
    const pair = await crypto.subtle.generateKey(ED25519, true, ['sign', 'verify'])
    if (!('privateKey' in pair)) return null
    const { x, d } = await crypto.subtle.exportKey('jwk', pair.privateKey)
    return x === undefined || d === undefined ? null : { kty: 'OKP', crv: 'Ed25519', x, d }
  } catch {
    return null
  }
}

/**
 * The first problem, or null, as `problemWithReceipt` of `@reeve/sdk/pool` finds it. `publicKey`: the server's, base64url.
 * Throws where the platform has no Ed25519.
 */
export async function verifyReceipt({ receipt, hash, signature }: Receipt, publicKey: string): Promise<string | null> {
  const body = canonicalJson(receipt)
  if (receipt.version !== 1) return 'is of a version that is not known here'
  if ((await sha256Hex(body)) !== hash) return 'has been changed: its hash is another one'
  if (receipt.key_id !== publicKey) return `was signed with another key, ${receipt.key_id}`
  if (!(await verifies(publicKey, signature, body))) return 'has a signature that does not verify'
  const { assignment_id, signed } = receipt
  const { nonce, output_hash } = signed
  const text = canonicalJson({ assignment_id, nonce, output_hash })
  return (await verifies(signed.public_key, signed.signature, text))
    ? null
    : "has a worker's signature that does not verify"
}

async function sha256Hex(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

async function verifies(publicKey: string, signature: string, text: string): Promise<boolean> {
  const [keyBytes, bytes] = [decodeBase64url(publicKey), decodeBase64url(signature)]
  if (keyBytes === null || bytes === null) return false
  let key: CryptoKey
  try {
    key = await crypto.subtle.importKey('raw', keyBytes, ED25519, false, ['verify'])
  } catch (error) {
    // Bytes that are no key; without Ed25519 it is a NotSupportedError, and nothing can be said of the signature.
    if (error instanceof Error && error.name === 'DataError') return false
    throw error
  }
  return crypto.subtle.verify(ED25519, key, bytes, new TextEncoder().encode(text))
}

function decodeBase64url(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9_-]*={0,2}$/.test(text)) return null
  try {
    const binary = atob(
      text
        .replace(/={1,2}$/, '')
        .replaceAll('-', '+')
        .replaceAll('_', '/'),
    )
    return Uint8Array.from(binary, (char) => char.charCodeAt(0))
  } catch {
    return null
  }
}
