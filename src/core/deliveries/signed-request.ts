// A signed request as a door queues it, and as its row of the outbox holds it.
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { OutboundAnswer } from '../outbound/outbound.ts'

const StoredRequest = Compile(
  Type.Object({
    subject: Type.String(),
    account_id: Type.Union([Type.Integer(), Type.Null()]),
    url: Type.String(),
    request_id: Type.String(),
    body: Type.String(),
    is_trusted: Type.Boolean(),
    trace_id: Type.Optional(Type.String()),
  }),
)

/** One body and one request id over all its attempts. */
export interface SignedRequest {
  /** What it is about, in the door's own words: the id by which its attempts are listed. */
  subject: string
  /** Whose key signs it, where accounts have keys of their own. */
  accountId: number | null
  url: string
  requestId: string
  body: string
  /** The owner of this deployment chose the address. */
  isTrusted: boolean
  /** Of the request that queued it, where no job did. */
  traceId?: string
}

export interface SigningKey {
  keyId: string
  secret: string
}

export interface Sender {
  topic: string
  /** Null: none is set, and nothing can be signed. */
  keyOf(request: SignedRequest): SigningKey | null
  /** Secrets of keys that are being rotated in or out, at this time: `webhook-signature` carries their signatures too. */
  furtherSecrets?: (nowMs: number) => readonly string[]
  /** Whether a 2xx status means success. Default: every one does. Others are final. */
  accepts?: (status: number) => boolean
  /** What this side learns when it is over; null: it was given up. */
  onEnd?: ((request: SignedRequest, answer: OutboundAnswer | null) => Promise<void>) | undefined
}

export const storedFrom = ({ accountId, requestId, isTrusted, traceId, ...same }: SignedRequest) => ({
  account_id: accountId,
  request_id: requestId,
  is_trusted: isTrusted,
  ...same,
  ...(traceId === undefined ? {} : { trace_id: traceId }),
})

export function requestFrom(payload: unknown): SignedRequest {
  const { account_id, request_id, is_trusted, trace_id, ...same } = StoredRequest.Parse(payload)
  const trace = trace_id === undefined ? {} : { traceId: trace_id }
  return { accountId: account_id, requestId: request_id, isTrusted: is_trusted, ...same, ...trace }
}
