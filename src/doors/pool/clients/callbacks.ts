// A client that named a callback_url is told how its job ended: signed as the challenge door signs, with a secret of the
// client's own, and tried as often.
import { createHmac } from 'node:crypto'
import type { Deliveries } from '../../../core/deliveries/deliveries.ts'
import type { SigningKey } from '../../../core/deliveries/signed-request.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import type { Delivery } from '../../../core/outbox/delivery.ts'
import { jsonText, rawOrNull } from '../raw.ts'

const TOPIC = 'pool_callback'

/** How a job ended, as its client is told. Outputs and metrics are JSON texts. */
export interface JobEnd {
  status: string
  output: string | null
  outputHash: string | null
  errorMessage: string | null
  artifactUri: string | null
  metrics: string | null
  /** Null: the moment is not known yet. */
  finishedAt: string | null
}

export interface Callback {
  jobId: string
  clientId: number
  url: string
  body: string
}

export interface Callbacks {
  /** With the end of the job. */
  queue(callback: Callback): Effect
  /** What a client's callbacks are signed with. */
  keyOf(clientId: number): SigningKey
  topics: readonly Delivery[]
}

export const callbackBody = (jobId: string, end: JobEnd): string =>
  jsonText({
    job_id: jobId,
    status: end.status,
    output: rawOrNull(end.output),
    output_hash: end.outputHash,
    error_message: end.errorMessage,
    artifact_uri: end.artifactUri,
    metrics_json: rawOrNull(end.metrics),
    finished_at: end.finishedAt,
  })

/** `master`: all secrets are derived from it, so that none needs to be kept, and no client knows another's. */
export function openCallbacks({ deliveries, master }: { deliveries: Deliveries; master: string }): Callbacks {
  const keyOf = (clientId: number) => ({
    keyId: `pool-${clientId}`,
    secret: createHmac('sha256', master).update(`callback ${clientId}`).digest('hex'),
  })
  return {
    queue: ({ jobId, clientId: accountId, url, body }) =>
      deliveries.add(TOPIC, { subject: jobId, accountId, url, requestId: jobId, body, isTrusted: false }, jobId),
    keyOf,
    topics: deliveries.senders({
      topic: TOPIC,
      keyOf: ({ accountId }) => (accountId === null ? null : keyOf(accountId)),
    }),
  }
}
