// How signed requests leave: a row of the outbox is one request, with one body and one X-Request-ID over all its attempts,
// and a new nonce and timestamp for each. Six attempts; then the row is a dead letter that can be replayed. A door says what
// a row's letter is, which key signs it, and what is kept of each attempt.
import { authorization, webhookHeaders } from '@reeve/sdk/challenge'
import type { Clock } from '../clock.ts'
import { retryWaitMs } from '../retry.ts'
import type { Delivered, Delivery, OutboxRow } from '../outbox/delivery.ts'
import type { Refused } from '../outcome.ts'
import { newSecret } from '../random.ts'
import type { Outbound, OutboundAnswer, OutboundRefusal } from './outbound.ts'

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

export interface SignedLetter {
  url: string
  requestId: string
  body: string
  /** The owner of this deployment chose the address. */
  isTrusted: boolean
}

export interface SigningKey {
  keyId: string
  secret: string
}

export interface SendingDeps {
  outbound: Pick<Outbound, 'request'>
  clock: Clock
  wakeOutbox(): void
}

export interface Attempt<Letter extends SignedLetter> {
  row: OutboxRow
  letter: Letter
  answer: OutboundAnswer | Refused<OutboundRefusal | 'no_key'>
  durationMs: number
}

export interface Sending<Letter extends SignedLetter> {
  topic: string
  letterFrom(payload: unknown): Letter
  /** Null: none is set, and nothing can be signed. */
  keyOf(letter: Letter): SigningKey | null
  log(attempts: readonly Attempt<Letter>[]): Promise<void>
  /** What this side learns when it is over; null: it was given up. */
  onEnd?: ((letter: Letter, answer: OutboundAnswer | null) => Promise<void>) | undefined
}

/** The same delivery several times: as many batches may be under way at once. */
export function signedDeliveries<Letter extends SignedLetter>(deps: SendingDeps, sending: Sending<Letter>): Delivery[] {
  const delivery: Delivery = {
    topic: sending.topic,
    keeps: true,
    rowsMax: ROWS_MAX,
    claimMs: CLAIM_MS,
    retry: RETRY,
    attemptsMax: ATTEMPTS_MAX,
    async deliver(rows, signal) {
      const attempts = await Promise.all(rows.map((row) => attempt(deps, sending, row, signal)))
      await sending.log(attempts)
      const answers = attempts.map(delivered)
      await tellEnds(sending, attempts, answers)
      for (const answer of answers) wakeLater(deps, answer)
      return answers
    },
  }
  return Array.from({ length: LANES }, () => delivery)
}

async function attempt<Letter extends SignedLetter>(
  deps: SendingDeps,
  sending: Sending<Letter>,
  row: OutboxRow,
  signal: AbortSignal,
): Promise<Attempt<Letter>> {
  const started = performance.now()
  const letter = sending.letterFrom(row.payload)
  const done = (answer: Attempt<Letter>['answer']) => {
    return { row, letter, answer, durationMs: Math.round(performance.now() - started) }
  }
  const key = sending.keyOf(letter)
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

function delivered({ row, answer }: Attempt<SignedLetter>): Delivered {
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
function wakeLater({ wakeOutbox }: SendingDeps, answer: Delivered): void {
  if (answer.ok || answer.final === true || answer.retryMs === undefined) return
  setTimeout(wakeOutbox, answer.retryMs + WAKE_LATE_MS).unref()
}

async function tellEnds<Letter extends SignedLetter>(
  { onEnd }: Sending<Letter>,
  attempts: readonly Attempt<Letter>[],
  answers: readonly Delivered[],
): Promise<void> {
  if (onEnd === undefined) return
  for (const [index, made] of attempts.entries()) {
    const answer = answers[index]
    const isLast = made.row.attempts >= ATTEMPTS_MAX
    if (answer?.ok === true) await onEnd(made.letter, made.answer.ok ? made.answer : null)
    else if (answer?.final === true || isLast) await onEnd(made.letter, null)
  }
}
