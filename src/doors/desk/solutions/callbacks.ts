// A creator that named a `callback_url` gets a signed request when the task ends: the same signature and retries as the callbacks of
// the other doors, with a secret of the account's own. GET /callbacks/secret shows that secret. No callback holds a solution.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accountKeys, callbackSecretSchema, showCallbackSecret } from '../../../core/deliveries/account-keys.ts'
import type { Deliveries } from '../../../core/deliveries/deliveries.ts'
import type { SigningKey } from '../../../core/deliveries/signed-request.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import type { Delivery } from '../../../core/outbox/delivery.ts'
import { storedEvent, wireEvent, type DeskEvent } from '../changes/events.ts'
import type { Desk } from '../desk.ts'
import { deskGuard, type GuardParts } from '../guard.ts'
import type { Sealer } from './seal.ts'

const TOPIC = 'desk.callback'

export interface TaskCallback {
  jobId: string
  uuid: string
  url: string
  /** What it tells: the event of the task's end. */
  event: DeskEvent
}

export interface TaskCallbacks {
  /** With the end of the task. */
  queue(callback: TaskCallback): Effect
  keyOf(accountId: number): SigningKey
  topics: readonly Delivery[]
}

/** Secrets are derived from the key that seals solutions. */
export function openTaskCallbacks({ deliveries, sealer }: { deliveries: Deliveries; sealer: Sealer }): TaskCallbacks {
  const keyOf = accountKeys('desk', (text) => sealer.sign(text))
  return {
    queue({ jobId, uuid, url, event }) {
      const body = JSON.stringify(wireEvent(event.type, storedEvent(event)))
      const { accountId } = event
      return deliveries.add(TOPIC, { subject: uuid, accountId, url, requestId: jobId, body, isTrusted: false }, jobId)
    },
    keyOf,
    topics: deliveries.senders({
      topic: TOPIC,
      keyOf: ({ accountId }) => (accountId === null ? null : keyOf(accountId)),
    }),
  }
}

export const callbackSecretRoute =
  (parts: GuardParts & Pick<Desk, 'callbacks'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.get(
      '/api/v1/captcha/callbacks/secret',
      {
        onRequest: deskGuard(parts, 'SCRAPER'),
        schema: {
          tags: ['desk'],
          security: SECURED,
          ...callbackSecretSchema,
        },
      },
      showCallbackSecret(parts.callbacks.keyOf),
    )
  }
