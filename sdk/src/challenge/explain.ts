// Why a signed request does not verify, for `reeve verify` and for the console: with WebCrypto, which Node and browsers have.
import { mistakesOf, type SigningMistake } from './mistakes.ts'
import type { RequestParts } from './request-text.ts'
import { canonicalLines, parseAuthorization, signedPath, type AuthFields, type SignedParts } from './signed-text.ts'

export interface SignatureReport {
  auth: AuthFields
  /** What is to be signed, line by line (CANONICAL_LINES). */
  lines: string[]
  /** Which of the secrets have made the signature, by their place; empty: it does not verify. */
  signers: number[]
  /** The usual mistake with which it would verify, and the lines that were signed by it. Null: none explains it. */
  mistake: (SigningMistake & { lines: string[] }) | null
}

export interface ExplainOptions {
  secrets: readonly string[]
  /** Paths that a proxy may strip in front of the server. */
  prefixes?: readonly string[]
}

/** Null: the header is not that of a signed request. Throws where the platform has no WebCrypto (a page over plain HTTP). */
export async function explainSignature(
  { method, target, header, body }: RequestParts,
  { secrets, prefixes = [] }: ExplainOptions,
): Promise<SignatureReport | null> {
  const auth = parseAuthorization(header.trim())
  if (auth === null) return null
  const { ts, nonce, sig } = auth
  const parts = { method, path: target.split('?', 1)[0] ?? '', ts, nonce, body }
  const sent = await hashOf(body)
  const keys = await Promise.all(secrets.map(keyOf))
  const signersOf = async (lines: string[]): Promise<number[]> => {
    const made = await Promise.all(keys.map((key) => sign(key, lines)))
    return made.flatMap((one, index) => (one === sig ? [index] : []))
  }

  const lines = canonicalLines(parts, sent)
  for (const right of [lines, canonicalLines({ ...parts, path: signedPath(parts.path) }, sent)]) {
    const signers = await signersOf(right)
    if (signers.length > 0) return { auth, lines, signers, mistake: null }
  }
  for (const mistake of mistakesOf({ parts, target, prefixes })) {
    const wrong = canonicalLines(mistake.parts, mistake.line === 5 ? await hashOf(mistake.parts.body) : sent)
    if ((await signersOf(wrong)).length > 0) {
      return { auth, lines, signers: [], mistake: { ...mistake, lines: wrong } }
    }
  }
  return { auth, lines, signers: [], mistake: null }
}

async function hashOf(body: SignedParts['body']): Promise<string> {
  if (typeof body === 'object' && 'hash' in body) return body.hash
  return hex(await crypto.subtle.digest('SHA-256', new Uint8Array(typeof body === 'string' ? utf8(body) : body)))
}

/** WebCrypto refuses an empty key; HMAC pads keys with zeros, so that one zero is the same key. */
const keyOf = (secret: string): Promise<CryptoKey> =>
  crypto.subtle.importKey('raw', utf8(secret === '' ? '\0' : secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ])

const sign = async (key: CryptoKey, lines: readonly string[]): Promise<string> =>
  hex(await crypto.subtle.sign('HMAC', key, utf8(lines.join('\n'))))

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

const hex = (bytes: ArrayBuffer): string =>
  [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('')

export interface LineDifference {
  /** From 1. */
  line: number
  expected: string
  got: string
}

/** Which lines of another canonical string differ from these. */
export function compareLines(lines: readonly string[], theirs: string): LineDifference[] {
  const other = theirs.replace(/\n$/, '').split('\n')
  const count = Math.max(lines.length, other.length)
  return Array.from({ length: count }, (_, index) => ({
    line: index + 1,
    expected: lines[index] ?? '',
    got: other[index] ?? '',
  })).filter(({ expected, got }) => expected !== got)
}
