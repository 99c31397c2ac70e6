// What an attempt came to: delivered, to be tried again and when, or given up. Retried are failed connections, 429 and 5xx.
// Six attempts within about 15 seconds; with CALLBACK_SLOW_RETRIES as many more, five minutes to a day apart.
import { isObject } from '../values/is-object.ts'
import { storableText } from '../db/database.ts'
import type { Delivered } from '../outbox/delivery.ts'
import type { OutboundAnswer, OutboundFailure, OutboundRefusal } from '../outbound/outbound.ts'
import type { Refused } from '../values/outcome.ts'
import { retryWaitMs } from '../concurrency/retry.ts'
import type { Sender } from './signed-request.ts'

export const FAST_ATTEMPTS = 6
export const FAST_RETRY = { baseMs: 500, maxMs: 30_000 }
const SLOW_RETRY = { baseMs: 300_000, maxMs: 86_400_000 }
const RETRY_AFTER_MS_MAX = 30_000
const PEER_CODE_CHARS_MAX = 100

/** Never again: the address is wrong, not the moment. */
const FINAL: ReadonlySet<OutboundRefusal> = new Set<OutboundRefusal>([
  'invalid_url',
  'credentials_in_url',
  'ambiguous_address',
  'forbidden_address',
])

export type AttemptAnswer = OutboundAnswer | OutboundFailure | Refused<'no_key'>

export interface JudgedAttempt {
  delivered: Delivered
  /** Of a failed connection: the code of the system or of TLS. */
  cause: string | null
  /** The error code in the answer's body. */
  peerCode: string | null
}

export function judgeAttempt(
  answer: AttemptAnswer,
  attempt: number,
  { accepts = () => true }: Pick<Sender, 'accepts'>,
  nowMs: number,
): JudgedAttempt {
  const retryMs =
    attempt < FAST_ATTEMPTS ? retryWaitMs(attempt, FAST_RETRY) : retryWaitMs(attempt - FAST_ATTEMPTS + 1, SLOW_RETRY)
  if (!answer.ok) {
    const cause = answer.code !== 'no_key' && 'cause' in answer ? (answer.cause ?? null) : null
    const final = answer.code !== 'no_key' && FINAL.has(answer.code)
    return { delivered: { ok: false, error: named(answer.code, cause), final, retryMs }, cause, peerCode: null }
  }
  const { status } = answer
  if (status >= 200 && status < 300 && accepts(status)) return { delivered: { ok: true }, cause: null, peerCode: null }

  const peerCode = peerCodeOf(answer.body)
  const isAgain = status === 429 || status >= 500
  const askedMs = isAgain && attempt < FAST_ATTEMPTS ? retryAfterMs(answer.headers, nowMs) : null
  const error = named(`HTTP ${status}`, peerCode)
  return { delivered: { ok: false, error, final: !isAgain, retryMs: askedMs ?? retryMs }, cause: null, peerCode }
}

const named = (error: string, detail: string | null): string => (detail === null ? error : `${error} (${detail})`)

/** Seconds, or a date: the difference to the other side's own clock, if the answer tells it. */
function retryAfterMs(headers: OutboundAnswer['headers'], nowMs: number): number | null {
  const header = headers['retry-after']
  if (header === undefined) return null
  if (/^\d{1,9}$/.test(header)) return Math.min(Number(header) * 1000, RETRY_AFTER_MS_MAX)
  const until = Date.parse(header)
  if (Number.isNaN(until) || !header.endsWith('GMT')) return null
  const peerNow = Date.parse(headers.date ?? '')
  return Math.min(Math.max(0, until - (Number.isNaN(peerNow) ? nowMs : peerNow)), RETRY_AFTER_MS_MAX)
}

/** `{"error":{"code"}}`, `{"code"}` or `{"error":"…"}`, as this server's own doors answer. */
function peerCodeOf(body: Buffer): string | null {
  let answer: unknown
  try {
    answer = JSON.parse(body.toString())
  } catch {
    return null
  }
  if (!isObject(answer)) return null
  const { error, code } = answer
  const found = isObject(error) ? error['code'] : (code ?? error)
  return typeof found === 'string' && found !== '' ? storableText(found, PEER_CODE_CHARS_MAX) : null
}
