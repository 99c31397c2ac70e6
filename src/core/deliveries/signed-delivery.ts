// How signed requests leave: a row of the outbox is one request, with one body and one X-Request-ID over all its attempts,
// and a new nonce and timestamp for each. After the last attempt the row is a dead letter that can be replayed.
import { authorization, signedPath, webhookHeaders } from '@reeve/sdk/challenge'
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Outbound } from '../outbound/outbound.ts'
import type { Delivered, Delivery, OutboxRow } from '../outbox/delivery.ts'
import { newSecret } from '../random.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { AttemptLog, NewAttempt } from './attempt-log.ts'
import { FAST_ATTEMPTS, FAST_RETRY, judgeAttempt, type AttemptAnswer, type JudgedAttempt } from './judge-attempt.ts'
import { logRefused } from './log-refused.ts'
import { requestFrom, type Sender, type SignedRequest } from './signed-request.ts'
import type { DeliveryTrace } from '../traces/spans.ts'
import type { DeliveryTraces } from '../traces/traces.ts'

const TIMEOUT_MS = 10_000
const CLAIM_MS = 15_000 // longer than the time-out: a dispatcher that dies holds a row back no longer than this
const ROWS_MAX = 32
const CONCURRENCY = 4 // a slow receiver holds up the 31 rows it was claimed with, not all that waits
const WAKE_LATE_MS = 5
const WAKE_WITHIN_MS = 60_000

export interface SendingDeps {
  outbound: Pick<Outbound, 'request'>
  clock: Clock
  attempts: AttemptLog
  log: Logger
  slowRetries: number
  ledger: () => Pick<Ledger, 'summaries'>
  traces: DeliveryTraces | null
  wakeOutbox(): void
}

export interface DeliveryAttempt extends JudgedAttempt {
  row: OutboxRow
  request: SignedRequest
  answer: AttemptAnswer
  durationMs: number
}

/** The same delivery several times: as many batches may be under way at once. */
export function signedDeliveries(deps: SendingDeps, sender: Sender): Delivery[] {
  const attemptsMax = FAST_ATTEMPTS + deps.slowRetries
  const delivery: Delivery = {
    topic: sender.topic,
    keeps: true,
    rowsMax: ROWS_MAX,
    claimMs: CLAIM_MS,
    retry: FAST_RETRY,
    attemptsMax,
    async deliver(rows, signal) {
      const traces = await deps.traces?.of(rows)
      const attempts = await Promise.all(
        rows.map((row) => attemptOnce(deps, sender, { row, trace: traces?.get(row.outboxId) ?? null }, signal)),
      )
      await deps.attempts.write(attempts.map(loggedFrom))
      for (const attempt of attempts) {
        await tellEnd(sender, attempt, attemptsMax)
        wakeLater(deps, attempt.delivered)
      }
      const refused = attempts.filter(({ delivered }) => !delivered.ok)
      if (refused.length > 0) await logRefused(deps, refused, (one) => isGivenUp(one, attemptsMax))
      return attempts.map(({ delivered }) => delivered)
    },
  }
  return Array.from({ length: CONCURRENCY }, () => delivery)
}

async function attemptOnce(
  deps: SendingDeps,
  sender: Sender,
  { row, trace }: { row: OutboxRow; trace: DeliveryTrace | null },
  signal: AbortSignal,
): Promise<DeliveryAttempt> {
  const started = performance.now()
  const request = requestFrom(row.payload)
  const traceparent = trace === null ? null : (deps.traces?.traceparentOf(trace) ?? null)
  const answer = await send(deps, sender, { traceparent, ...request }, signal)
  const judged = judgeAttempt(answer, row.attempts, sender, deps.clock.now())
  const attempt = { row, request, answer, durationMs: Math.round(performance.now() - started), ...judged }
  if (trace !== null) deps.traces?.sent(trace, attempt)
  return attempt
}

async function send(
  { outbound, clock }: SendingDeps,
  sender: Sender,
  request: SignedRequest & { traceparent: string | null },
  signal: AbortSignal,
): Promise<AttemptAnswer> {
  const key = sender.keyOf(request)
  if (key === null) return { ok: false, code: 'no_key' }
  if (!URL.canParse(request.url)) return { ok: false, code: 'invalid_url' }

  const { body, requestId: id, url, isTrusted } = request
  const nowMs = clock.now()
  const ts = Math.floor(nowMs / 1000)
  const secrets = [...new Set([key.secret, ...(sender.furtherSecrets?.(nowMs) ?? [])])]
  const parts = { method: 'POST', path: signedPath(new URL(url).pathname), ts, nonce: newSecret().slice(0, 32), body }
  const headers = {
    'content-type': 'application/json',
    authorization: authorization(key, parts),
    'x-request-id': id,
    ...webhookHeaders(secrets, { id, ts, body }),
    ...(request.traceparent === null ? {} : { traceparent: request.traceparent }),
  }
  // A success is one whatever its body: what is too long of it is not read.
  const limits = { timeoutMs: TIMEOUT_MS, cutsBody: true }
  return outbound.request({ url, method: 'POST', headers, body, ...limits, isTrusted, signal })
}

const loggedFrom = ({ row, request, answer, durationMs, cause, peerCode }: DeliveryAttempt): NewAttempt => ({
  outbox_id: row.outboxId,
  topic: row.topic,
  subject: request.subject,
  request_id: request.requestId,
  attempt: row.attempts,
  url: request.url,
  status_code: answer.ok ? answer.status : null,
  error: answer.ok ? null : answer.code,
  cause,
  peer_code: peerCode,
  duration_ms: durationMs,
})

const isGivenUp = ({ delivered, row }: DeliveryAttempt, attemptsMax: number): boolean =>
  !delivered.ok && (delivered.final === true || row.attempts >= attemptsMax)

async function tellEnd({ onEnd }: Sender, attempt: DeliveryAttempt, attemptsMax: number): Promise<void> {
  if (onEnd === undefined) return
  const { request, answer, delivered } = attempt
  if (delivered.ok) await onEnd(request, answer.ok ? answer : null)
  else if (isGivenUp(attempt, attemptsMax)) await onEnd(request, null)
}

/** The dispatcher looks once a second; a shorter wait is kept by waking it. */
function wakeLater({ wakeOutbox }: SendingDeps, answer: Delivered): void {
  if (answer.ok || answer.final === true || answer.retryMs === undefined) return
  if (answer.retryMs < WAKE_WITHIN_MS) setTimeout(wakeOutbox, answer.retryMs + WAKE_LATE_MS).unref()
}
