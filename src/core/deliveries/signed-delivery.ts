// How signed requests leave: a row of the outbox is one request, with one body and one X-Request-ID over all its attempts,
// and a new nonce and timestamp for each. After six attempts the row is a dead letter that can be replayed.
import { authorization, signedPath, webhookHeaders } from '@reeve/sdk/challenge'
import type { Clock } from '../clock.ts'
import { retryWaitMs } from '../retry.ts'
import type { Delivered, Delivery, OutboxRow } from '../outbox/delivery.ts'
import type { Refused } from '../outcome.ts'
import { newSecret } from '../random.ts'
import type { Outbound, OutboundAnswer, OutboundRefusal } from '../outbound/outbound.ts'
import type { AttemptLog, NewAttempt } from './attempt-log.ts'
import { requestFrom, type Sender, type SignedRequest } from './signed-request.ts'

const ATTEMPTS_MAX = 6
const RETRY = { baseMs: 500, maxMs: 30_000 }
const RETRY_AFTER_MS_MAX = 30_000
const TIMEOUT_MS = 10_000
const CLAIM_MS = 15_000 // longer than the time-out: a dispatcher that dies holds a row back no longer than this
const ROWS_MAX = 32
const CONCURRENCY = 4 // a slow receiver holds up the 31 rows it was claimed with, not all that waits
const WAKE_LATE_MS = 5

/** Never again: the address is wrong, not the moment. */
const FINAL: ReadonlySet<OutboundRefusal> = new Set<OutboundRefusal>([
  'invalid_url',
  'credentials_in_url',
  'ambiguous_address',
  'forbidden_address',
])

export interface SendingDeps {
  outbound: Pick<Outbound, 'request'>
  clock: Clock
  log: AttemptLog
  wakeOutbox(): void
}

interface Attempt {
  row: OutboxRow
  request: SignedRequest
  answer: OutboundAnswer | Refused<OutboundRefusal | 'no_key'>
  durationMs: number
}

/** The same delivery several times: as many batches may be under way at once. */
export function signedDeliveries(deps: SendingDeps, sender: Sender): Delivery[] {
  const delivery: Delivery = {
    topic: sender.topic,
    keeps: true,
    rowsMax: ROWS_MAX,
    claimMs: CLAIM_MS,
    retry: RETRY,
    attemptsMax: ATTEMPTS_MAX,
    async deliver(rows, signal) {
      const attempts = await Promise.all(rows.map((row) => attempt(deps, sender, row, signal)))
      await deps.log.write(attempts.map(loggedFrom))
      const answers = attempts.map((attempt) => delivered(attempt, sender))
      await tellEnds(sender, attempts, answers)
      for (const answer of answers) wakeLater(deps, answer)
      return answers
    },
  }
  return Array.from({ length: CONCURRENCY }, () => delivery)
}

async function attempt(deps: SendingDeps, sender: Sender, row: OutboxRow, signal: AbortSignal): Promise<Attempt> {
  const started = performance.now()
  const request = requestFrom(row.payload)
  const done = (answer: Attempt['answer']) => {
    return { row, request, answer, durationMs: Math.round(performance.now() - started) }
  }
  const key = sender.keyOf(request)
  if (key === null) return done({ ok: false, code: 'no_key' })
  if (!URL.canParse(request.url)) return done({ ok: false, code: 'invalid_url' })

  const { body, requestId: id, url, isTrusted } = request
  const nowMs = deps.clock.now()
  const ts = Math.floor(nowMs / 1000)
  const secrets = [...new Set([key.secret, ...(sender.furtherSecrets?.(nowMs) ?? [])])]
  const parts = { method: 'POST', path: signedPath(new URL(url).pathname), ts, nonce: newSecret().slice(0, 32), body }
  const headers = {
    'content-type': 'application/json',
    authorization: authorization(key, parts),
    'x-request-id': id,
    ...webhookHeaders(secrets, { id, ts, body }),
  }
  return done(
    await deps.outbound.request({ url, method: 'POST', headers, body, timeoutMs: TIMEOUT_MS, isTrusted, signal }),
  )
}

const loggedFrom = ({ row, request, answer, durationMs }: Attempt): NewAttempt => ({
  outbox_id: row.outboxId,
  topic: row.topic,
  subject: request.subject,
  request_id: request.requestId,
  attempt: row.attempts,
  url: request.url,
  status_code: answer.ok ? answer.status : null,
  error: answer.ok ? null : answer.code,
  duration_ms: durationMs,
})

function delivered({ row, answer }: Attempt, { accepts = () => true }: Sender): Delivered {
  const retryMs = retryWaitMs(row.attempts, RETRY)
  if (!answer.ok) {
    const isFinal = answer.code !== 'no_key' && FINAL.has(answer.code)
    return { ok: false, error: answer.code, final: isFinal, retryMs }
  }
  const { status } = answer
  if (status >= 200 && status < 300 && accepts(status)) return { ok: true }
  const isAgain = status === 429 || status >= 500
  const asked = isAgain ? retryAfterMs(answer.headers['retry-after']) : null
  return { ok: false, error: `HTTP ${status}`, final: !isAgain, retryMs: asked ?? retryMs }
}

/** In seconds; a date would need the other side's clock. */
function retryAfterMs(header: string | undefined): number | null {
  if (header === undefined || !/^\d{1,9}$/.test(header)) return null
  return Math.min(Number(header) * 1000, RETRY_AFTER_MS_MAX)
}

/** The dispatcher looks once a second; a shorter wait is kept by waking it. */
function wakeLater({ wakeOutbox }: SendingDeps, answer: Delivered): void {
  if (answer.ok || answer.final === true || answer.retryMs === undefined) return
  setTimeout(wakeOutbox, answer.retryMs + WAKE_LATE_MS).unref()
}

async function tellEnds({ onEnd }: Sender, attempts: readonly Attempt[], answers: readonly Delivered[]): Promise<void> {
  if (onEnd === undefined) return
  for (const [index, made] of attempts.entries()) {
    const answer = answers[index]
    const isLast = made.row.attempts >= ATTEMPTS_MAX
    if (answer?.ok === true) await onEnd(made.request, made.answer.ok ? made.answer : null)
    else if (answer?.final === true || isLast) await onEnd(made.request, null)
  }
}
