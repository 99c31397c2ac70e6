// Receipts of the pool: what the server vouches for, and how anybody can check it without the server.
//
//   body       canonical JSON of ReceiptBody
//   hash       SHA-256 of the body, in hex; the next receipt carries it as `previous`
//   signature  base64url(Ed25519(server key, body))
import { canonicalJson } from './canonical-json.ts'
import { decodeBase64url, isSignedBy, sha256Hex, signedText } from './pool-signing.ts'

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
  /** What the worker signed, and with which key. */
  signed: { nonce: string; output_hash: string | null; public_key: string; signature: string }
}

export interface Receipt {
  receipt: ReceiptBody
  hash: string
  signature: string
}

/** The first thing that is wrong, or null. `publicKey`: the server's, base64url. */
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

/** The first break between receipts that follow each other by number, or null. Gaps are no break: they are not judged. */
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
