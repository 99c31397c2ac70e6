// Receipts of the pool: what the server confirms, and how to verify it without the server.
//
//   body       canonical JSON of ReceiptBody
//   hash       SHA-256 of the body, in hex; the next receipt carries it as `previous`
//   signature  base64url(Ed25519(server key, body))
import { canonicalJson } from '../canonical-json.ts'
import { decodeBase64url, isSignedBy, sha256Hex, signedText, signText, type PrivateKey } from './signing.ts'

/** What the first receipt carries as `previous`. */
export const FIRST_PREVIOUS = '0'.repeat(64)

export interface ReceiptBody {
  version: 1
  /** From 1, with no gap. */
  number: number
  /** The hash of the receipt before this one. */
  previous: string
  /** The server's public key, base64url. */
  key_id: string
  job_id: string
  assignment_id: number
  attempt: number
  worker_id: number
  status: 'completed' | 'failed'
  /** Of the output, as the server computed it; without an output, as the worker gave it. */
  output_hash: string | null
  finished_at: string
  /** Of a replica, where the job compares outputs by another rule than equal hashes. */
  agree?: Record<string, unknown>
  /** What the worker signed, and with which key. */
  signed: { nonce: string; output_hash: string | null; public_key: string; signature: string }
}

export interface Receipt {
  receipt: ReceiptBody
  hash: string
  signature: string
}

/** The end of the chain, signed: whoever keeps one can tell later that nothing before it was changed or left out. */
export interface ReceiptHead {
  /** The number of the last receipt; 0 before the first. */
  size: number
  /** Its hash. */
  hash: string
  key_id: string
  /** base64url(Ed25519(server key, canonical_json({"hash": …, "size": …}))) */
  signature: string
}

const headText = ({ size, hash }: Pick<ReceiptHead, 'size' | 'hash'>): string => canonicalJson({ hash, size })

export const signHead = (key: PrivateKey, head: Pick<ReceiptHead, 'size' | 'hash'>): ReceiptHead => ({
  size: head.size,
  hash: head.hash,
  key_id: key.x,
  signature: signText(key, headText(head)),
})

/** The first problem, or null. `publicKey`: the server's, base64url. */
export function problemWithHead(head: ReceiptHead, publicKey: string): string | null {
  if (head.key_id !== publicKey) return `was signed with another key, ${head.key_id}`
  return verifies(publicKey, head.signature, headText(head)) ? null : 'has a signature that does not verify'
}

/**
 * The first problem of a whole chain, or null: a missing receipt, a broken link, or a head that the receipts do not lead to.
 * `heads`: the current one, and older ones that were kept.
 */
export function problemWithWholeChain(receipts: readonly Receipt[], heads: readonly ReceiptHead[]): string | null {
  const ordered = receipts.toSorted((a, b) => a.receipt.number - b.receipt.number)
  const missing = ordered.findIndex(({ receipt }, index) => receipt.number !== index + 1)
  const broken = problemWithChain(ordered)
  if (broken !== null) return broken
  if (missing !== -1) return `receipt ${missing + 1} is missing`
  for (const { size, hash } of heads) {
    const last = size === 0 ? FIRST_PREVIOUS : ordered[size - 1]?.hash
    if (last === undefined) return `receipt ${ordered.length + 1} is missing: the head has ${size}`
    if (last !== hash) return `receipt ${size} is not the one of the head`
  }
  return null
}

/** The first problem, or null. `publicKey`: the server's, base64url. */
export function problemWithReceipt({ receipt, hash, signature }: Receipt, publicKey: string): string | null {
  const body = canonicalJson(receipt)
  if (receipt.version !== 1) return 'is of a version that is not known here'
  if (sha256Hex(body) !== hash) return 'has been changed: its hash is another one'
  if (receipt.key_id !== publicKey) return `was signed with another key, ${receipt.key_id}`
  if (!verifies(publicKey, signature, body)) return 'has a signature that does not verify'
  const { assignment_id, signed } = receipt
  const { nonce, output_hash } = signed
  if (!verifies(signed.public_key, signed.signature, signedText({ assignment_id, nonce, output_hash }))) {
    return "has a worker's signature that does not verify"
  }
  return null
}

/** The first broken link between consecutive receipts, or null. Missing receipts are not reported. */
export function problemWithChain(receipts: readonly Receipt[]): string | null {
  const ordered = receipts.toSorted((a, b) => a.receipt.number - b.receipt.number)
  for (const [index, { receipt }] of ordered.entries()) {
    const before = ordered[index - 1]
    if (receipt.number === 1 && receipt.previous !== FIRST_PREVIOUS) return 'receipt 1 does not begin the chain'
    if (before?.receipt.number === receipt.number) return `there are two receipts with the number ${receipt.number}`
    if (before?.receipt.number === receipt.number - 1 && before.hash !== receipt.previous) {
      return `receipt ${receipt.number} does not follow receipt ${before.receipt.number}`
    }
  }
  return null
}

function verifies(publicKey: string, signature: string, text: string): boolean {
  const [key, bytes] = [decodeBase64url(publicKey), decodeBase64url(signature)]
  return key !== null && bytes !== null && isSignedBy(key, bytes, text)
}
