// The pool for workers and for whoever checks receipts. Node only; what a browser can use is in the main entry.
export {
  decodeBase64url,
  generateKey,
  isSignedBy,
  outputHash,
  parsePrivateKey,
  PUBLIC_KEY_BYTES,
  sha256Hex,
  SIGNATURE_BYTES,
  signedText,
  signSubmission,
  signText,
  type PrivateKey,
  type Signed,
} from './signing.ts'
export {
  FIRST_PREVIOUS,
  problemWithChain,
  problemWithHead,
  problemWithReceipt,
  problemWithWholeChain,
  signHead,
  type Receipt,
  type ReceiptBody,
  type ReceiptHead,
} from './receipts.ts'
export {
  runWorker,
  type Handler,
  type HandlerContext,
  type HandlerResult,
  type WorkerEvent,
  type WorkerOptions,
} from './worker.ts'
