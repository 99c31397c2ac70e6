// What the challenge door signs, byte for byte, without any cryptography: for Node and for browsers.
//
//   canonical string   METHOD \n PATH \n TIMESTAMP \n NONCE \n SHA256(body)
//   header             Authorization: RCS-HMAC-SHA256 keyId=…,ts=…,nonce=…,sig=…
//
// The path is what `signedPath` makes of the URL's path. Hashes are lower-case hex; the secret is its UTF-8 bytes.

export const AUTH_SCHEME = 'RCS-HMAC-SHA256'

const HEADER_CHARS_MAX = 2048
const FIELDS = ['keyId', 'ts', 'nonce', 'sig']
const FIELD_VALUE = /^[\x21\x23-\x2b\x2d-\x7e]{1,255}$/
const TS = /^[1-9]\d{0,11}$/
export const SIG = /^[0-9a-f]{64}$/

export interface SignedParts {
  method: string
  path: string
  /** Unix seconds. */
  ts: number
  nonce: string
  /** Or its hash, so that it is computed once when several keys are tried. */
  body: string | Uint8Array | { hash: string }
}

export interface AuthFields {
  keyId: string
  ts: number
  nonce: string
  sig: string
}

/**
 * The part of a URL's path that is signed: its suffix /solve or /callback/{challenge_id}, so that a proxy may strip a
 * prefix; otherwise the whole path, escaped as it is sent.
 */
export function signedPath(path: string): string {
  const segments = path.split('/')
  const last = segments.at(-1)
  if (last === 'solve') return '/solve'
  return segments.at(-2) === 'callback' && last !== '' ? `/callback/${last}` : path
}

/** The names of the lines, in their order. */
export const CANONICAL_LINES = ['method', 'path', 'timestamp', 'nonce', 'SHA256(body)'] as const

/** The lines of the canonical string, for a body with this hash. */
export const canonicalLines = ({ method, path, ts, nonce }: SignedParts, hash: string): string[] => [
  method.toUpperCase(),
  path,
  String(ts),
  nonce,
  hash,
]

/** Null: another scheme, or one of the four fields is missing, repeated or malformed. Unknown fields are ignored. */
export function parseAuthorization(header: string): AuthFields | null {
  if (header.length > HEADER_CHARS_MAX || !header.startsWith(`${AUTH_SCHEME} `)) return null
  const fields = new Map<string, string>()
  for (const part of header.slice(AUTH_SCHEME.length + 1).split(',')) {
    const at = part.indexOf('=')
    if (at === -1) return null
    const name = part.slice(0, at).trim()
    if (!FIELDS.includes(name)) continue
    const value = part.slice(at + 1).trim()
    if (!FIELD_VALUE.test(value) || fields.has(name)) return null
    fields.set(name, value)
  }
  const [keyId, ts, nonce, sig] = FIELDS.map((name) => fields.get(name))
  if (keyId === undefined || ts === undefined || nonce === undefined || sig === undefined) return null
  return TS.test(ts) && SIG.test(sig) ? { keyId, ts: Number(ts), nonce, sig } : null
}
