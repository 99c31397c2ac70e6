// The signed requests of this door, in either direction: what a row of the outbox says, and what is kept of each attempt.
// How they leave is core/outbound/signed-delivery.ts.
import { isObject } from '../../../core/is-object.ts'
import type { Database } from '../../../core/db/database.ts'
import type { OutboundAnswer } from '../../../core/outbound/outbound.ts'
import {
  signedDeliveries as deliveries,
  type Attempt,
  type SendingDeps,
  type SignedLetter,
} from '../../../core/outbound/signed-delivery.ts'
import type { Delivery } from '../../../core/outbox/delivery.ts'
import type { KeyRing } from '../signing/keys.ts'

export const CALLBACK_TOPIC = 'challenge_callback'
export const SEND_TOPIC = 'challenge_send'

const LOG_ATTEMPTS = `
  insert into challenge_deliveries (direction, challenge_id, request_id, outbox_id, attempt, url, status_code, error, duration_ms)
  select direction, challenge_id, request_id, outbox_id, attempt, url, status_code, error, duration_ms
    from json_to_recordset($1) as r (direction text, challenge_id text, request_id text, outbox_id bigint,
         attempt integer, url text, status_code integer, error text, duration_ms integer)`

export interface Letter extends SignedLetter {
  challengeId: string
}

export interface DeliveryDeps extends SendingDeps {
  database: Database
}

export interface Direction {
  direction: 'send' | 'callback'
  topic: string
  keys: KeyRing
  /** What this side learns when it is over. */
  onEnd?: (letter: Letter, answer: OutboundAnswer | null) => Promise<void>
}

export const signedDeliveries = (deps: DeliveryDeps, { direction, topic, keys, onEnd }: Direction): Delivery[] =>
  deliveries<Letter>(deps, {
    topic,
    letterFrom,
    keyOf: () => keys.signing,
    log: (attempts) => logAttempts(deps.database, direction, attempts),
    onEnd,
  })

async function logAttempts(
  database: Database,
  direction: Direction['direction'],
  attempts: readonly Attempt<Letter>[],
): Promise<void> {
  const lines = attempts.map(({ row, letter, answer, durationMs }) => ({
    direction,
    challenge_id: letter.challengeId,
    request_id: letter.requestId,
    outbox_id: row.outboxId,
    attempt: row.attempts,
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
