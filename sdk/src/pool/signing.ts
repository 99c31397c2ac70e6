// The signature of the pool, byte for byte: workers and the server use this file.
//
//   signed     canonical_json({"assignment_id": …, "nonce": …, "output_hash": …})
//   signature  base64url(Ed25519(private key, signed))
//
// Node only: node:crypto does the curve. What it would let pass and a stranger could abuse is refused here first: a public
// key of small order (under the identity, a forged signature verifies for anything), one that is not written in its one
// way, and a signature whose second half is not below the order of the group.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  verify,
  type KeyObject,
} from 'node:crypto'
import { canonicalJson, canonicalText } from '../canonical-json.ts'

export const PUBLIC_KEY_BYTES = 32
export const SIGNATURE_BYTES = 64

const BASE64URL = /^[A-Za-z0-9_-]*={0,2}$/

/** p, the prime of the field, and L, the order of the group: little-endian, as keys and signatures are. */
const FIELD = Buffer.from(`ed${'ff'.repeat(30)}7f`, 'hex')
const ORDER = Buffer.from('edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010', 'hex')

/** The five y of the eight points whose order divides 8; the sign of x does not matter. */
const SMALL_ORDER: ReadonlySet<string> = new Set([
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
])

/** A private key as a file holds it: a JSON Web Key. */
export interface PrivateKey {
  kty: 'OKP'
  crv: 'Ed25519'
  /** The public half, base64url: this is registered with the server. */
  x: string
  d: string
}

export interface Signed {
  assignment_id: number
  nonce: string
  output_hash: string | null
}

export const sha256Hex = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** What `output_hash` should be for this output, given as JSON text. */
export const outputHash = (outputText: string): string => sha256Hex(canonicalText(outputText))

export function generateKey(): PrivateKey {
  const { privateKey } = generateKeyPairSync('ed25519')
  return parsePrivateKey(privateKey.export({ format: 'jwk' }))
}

export function parsePrivateKey(value: unknown): PrivateKey {
  const { kty, crv, x, d }: Record<string, unknown> = typeof value === 'object' && value !== null ? { ...value } : {}
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string' || typeof d !== 'string') {
    throw new TypeError('Not an Ed25519 private key: expected a JSON Web Key with kty, crv, x and d.')
  }
  return { kty, crv, x, d }
}

/** The bytes that are signed. */
export const signedText = ({ assignment_id, nonce, output_hash }: Signed): string =>
  canonicalJson({ assignment_id, nonce, output_hash })

export const signText = (key: PrivateKey, text: string): string =>
  sign(null, Buffer.from(text), privateKeyOf(key)).toString('base64url')

// Reading a key takes longer than most of what is done with it.
const privateKeys = new WeakMap<PrivateKey, KeyObject>()

function privateKeyOf(key: PrivateKey): KeyObject {
  const known = privateKeys.get(key)
  if (known !== undefined) return known
  const read = createPrivateKey({ key: { ...key }, format: 'jwk' })
  privateKeys.set(key, read)
  return read
}

export const signSubmission = (key: PrivateKey, signed: Signed): string => signText(key, signedText(signed))

/** Null: not base64url with at most two `=`, or written with bits that mean nothing. */
export function decodeBase64url(text: string): Buffer | null {
  if (!BASE64URL.test(text)) return null
  const digits = text.replace(/={1,2}$/, '')
  const bytes = Buffer.from(digits, 'base64url')
  return bytes.toString('base64url') === digits ? bytes : null
}

/** Whether the key signed the text. Lengths are the caller's to check; what cannot be a signature is not one. */
export function isSignedBy(publicKey: Uint8Array, signature: Uint8Array, text: string): boolean {
  if (publicKey.length !== PUBLIC_KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false
  if (!isBelow(signature.subarray(32), ORDER)) return false
  const key = publicKeyOf(publicKey)
  return key !== null && verify(null, Buffer.from(text), key, signature)
}

const PUBLIC_KEYS_MAX = 10_000
const publicKeys = new Map<string, KeyObject>()

/** Null: a key that nobody may use, or not a point of the curve. */
function publicKeyOf(bytes: Uint8Array): KeyObject | null {
  const x = Buffer.from(bytes).toString('base64url')
  const known = publicKeys.get(x)
  if (known !== undefined) return known
  if (!isUsableKey(bytes)) return null
  try {
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    if (publicKeys.size >= PUBLIC_KEYS_MAX) publicKeys.clear()
    publicKeys.set(x, key)
    return key
  } catch {
    return null
  }
}

function isUsableKey(publicKey: Uint8Array): boolean {
  const y = Buffer.from(publicKey)
  y.writeUInt8(y.readUInt8(31) & 0x7f, 31)
  return isBelow(y, FIELD) && !SMALL_ORDER.has(y.toString('hex'))
}

/** Both little-endian and 32 bytes long. */
function isBelow(number: Uint8Array, limit: Uint8Array): boolean {
  for (let index = number.length - 1; index >= 0; index -= 1) {
    const difference = (number[index] ?? 0) - (limit[index] ?? 0)
    if (difference !== 0) return difference < 0
  }
  return false
}
