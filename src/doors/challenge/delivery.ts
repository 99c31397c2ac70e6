// How signed requests leave: a row of the outbox is one request, with one body and one X-Request-ID over all its attempts,
// and a new nonce and timestamp for each. Six attempts; then the row is a dead letter that can be replayed.
import { authorization, webhookHeaders } from '@reeve/sdk/challenge'
import type { Clock } from '../../core/clock.ts'
import type { Database } from '../../core/database.ts'
import { retryWaitMs } from '../../core/hands/retry.ts'
import type { Delivered, Delivery, OutboxRow } from '../../core/outbox/delivery.ts'
import type { Outbound, OutboundAnswer, OutboundRefusal } from '../../core/outbound/outbound.ts'
import type { Refused } from '../../core/outcome.ts'
import { newSecret } from '../../core/random.ts'
import type { KeyRing } from './keys.ts'
import { isObject } from './signed.ts'

export const CALLBACK_TOPIC = 'challenge_callback'
export const SEND_TOPIC = 'challenge_send'

const LOG_ATTEMPTS = `
  insert into challenge_deliveries (direction, challenge_id, request_id, outbox_id, attempt, url, status_code, error, duration_ms)
  select direction, challenge_id, request_id, outbox_id, attempt, url, status_code, error, duration_ms
    from json_to_recordset($1) as r (direction text, challenge_id text, request_id text, outbox_id bigint,
         attempt integer, url text, status_code integer, error text, duration_ms integer)`

export const ATTEMPTS_MAX = 6
const RETRY = { baseMs: 500, maxMs: 30_000 }
const RETRY_AFTER_MS_MAX = 30_000
const TIMEOUT_MS = 10_000
const CLAIM_MS = 15_000 // longer than the time-out: a dispatcher that dies holds a row back no longer than this
const ROWS_MAX = 32
const LANES = 4 // a slow receiver holds up the 31 rows it was claimed with, not all that waits
const WAKE_LATE_MS = 5

/** Never again: the address is wrong, not the moment. */
const FINAL: ReadonlySet<OutboundRefusal> = new Set<OutboundRefusal>([
  'invalid_url',
  'credentials_in_url',
  'ambiguous_address',
  'forbidden_address',
])

export interface Letter {
  challengeId: string
  url: string
  requestId: string
  body: string
  isTrusted: boolean
}

export interface DeliveryDeps {
  database: Database
  outbound: Pick<Outbound, 'request'>
  clock: Clock
  wakeOutbox(): void
}

export interface Direction {
  direction: 'send' | 'callback'
  topic: string
  keys: KeyRing
  /** What this side learns when it is over. */
  onEnd?: (letter: Letter, answer: OutboundAnswer | null) => Promise<void>
}

interface Attempt {
  letter: Letter
  answer: OutboundAnswer | Refused<OutboundRefusal | 'no_key'>
  durationMs: number
}

/** The same delivery several times: as many batches may be under way at once. */
export function signedDeliveries(deps: DeliveryDeps, direction: Direction): Delivery[] {
  const delivery: Delivery = {
    topic: direction.topic,
    keeps: true,
    rowsMax: ROWS_MAX,
    claimMs: CLAIM_MS,
    retry: RETRY,
    attemptsMax: ATTEMPTS_MAX,
    async deliver(rows, signal) {
      const attempts = await Promise.all(rows.map((row) => attempt(deps, direction, letterFrom(row.payload), signal)))
      await logAttempts(deps.database, direction.direction, rows, attempts)
      const answers = rows.map((row, index) => delivered(row, attempts[index]))
      await tellEnds(direction, rows, attempts, answers)
      for (const answer of answers) wakeLater(deps, answer)
      return answers
    },
  }
  return Array.from({ length: LANES }, () => delivery)
}

async function attempt(deps: DeliveryDeps, { keys }: Direction, letter: Letter, signal: AbortSignal): Promise<Attempt> {
  const started = performance.now()
  const done = (answer: Attempt['answer']) => ({ letter, answer, durationMs: Math.round(performance.now() - started) })
  const key = keys.signing
  if (key === null) return done({ ok: false, code: 'no_key' })
  if (!URL.canParse(letter.url)) return done({ ok: false, code: 'invalid_url' })

  const { body, requestId: id } = letter
  const ts = Math.floor(deps.clock.now() / 1000)
  const parts = { method: 'POST', path: new URL(letter.url).pathname, ts, nonce: newSecret().slice(0, 32), body }
  const headers = {
    'content-type': 'application/json',
    authorization: authorization(key, parts),
    'x-request-id': id,
    ...webhookHeaders(key.secret, { id, ts, body }),
  }
  const { url, isTrusted } = letter
  return done(
    await deps.outbound.request({ url, method: 'POST', headers, body, timeoutMs: TIMEOUT_MS, isTrusted, signal }),
  )
}

function delivered(row: OutboxRow, made: Attempt | undefined): Delivered {
  if (made === undefined) return { ok: false, error: 'No attempt was made.' }
  const { answer } = made
  const retryMs = retryWaitMs(row.attempts, RETRY)
  if (!answer.ok) {
    const isFinal = answer.code !== 'no_key' && FINAL.has(answer.code)
    return { ok: false, error: answer.code, final: isFinal, retryMs }
  }
  const { status } = answer
  if (status >= 200 && status < 300) return { ok: true }
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
function wakeLater({ wakeOutbox }: DeliveryDeps, answer: Delivered): void {
  if (answer.ok || answer.final === true || answer.retryMs === undefined) return
  setTimeout(wakeOutbox, answer.retryMs + WAKE_LATE_MS).unref()
}

async function tellEnds(
  { onEnd }: Direction,
  rows: readonly OutboxRow[],
  attempts: readonly Attempt[],
  answers: readonly Delivered[],
): Promise<void> {
  if (onEnd === undefined) return
  for (const [index, made] of attempts.entries()) {
    const answer = answers[index]
    const isLast = (rows[index]?.attempts ?? 0) >= ATTEMPTS_MAX
    if (answer?.ok === true) await onEnd(made.letter, made.answer.ok ? made.answer : null)
    else if (answer?.final === true || isLast) await onEnd(made.letter, null)
  }
}

async function logAttempts(
  database: Database,
  direction: Direction['direction'],
  rows: readonly OutboxRow[],
  attempts: readonly Attempt[],
): Promise<void> {
  const lines = attempts.map(({ letter, answer, durationMs }, index) => ({
    direction,
    challenge_id: letter.challengeId,
    request_id: letter.requestId,
    outbox_id: rows[index]?.outboxId,
    attempt: rows[index]?.attempts,
    url: letter.url,
    status_code: answer.ok ? answer.status : null,
    error: answer.ok ? null : answer.code,
    duration_ms: durationMs,
  }))
  await database.query(LOG_ATTEMPTS, [JSON.stringify(lines)])
}

function letterFrom(payload: unknown): Letter {
  const fields = isObject(payload) ? payload : {}
  return {
    challengeId: String(fields['challenge_id']),
    url: String(fields['url']),
    requestId: String(fields['request_id']),
    body: String(fields['body']),
    isTrusted: fields['is_trusted'] === true,
  }
}
