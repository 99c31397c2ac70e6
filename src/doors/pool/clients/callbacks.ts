// A client that named a callback_url receives the end of its job as a signed request: the same signature and retries as
// the challenge door's callbacks, with a secret of the client's own. GET /v1/callbacks/secret shows that secret.
import { createHmac } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { accountKeys, callbackSecretSchema, showCallbackSecret } from '../../../core/deliveries/account-keys.ts'
import type { Deliveries } from '../../../core/deliveries/deliveries.ts'
import type { SigningKey } from '../../../core/deliveries/signed-request.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import { isObject } from '../../../core/values/is-object.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { Delivery, OutboxRow } from '../../../core/outbox/delivery.ts'
import { documented, jsonText, rawOrNull, timestampOf } from '../wire.ts'

const TOPIC = 'pool_callback'
const NO_FINISHED_AT = '"finished_at":null}'

/** How a job ended. Outputs and metrics are JSON texts. */
export interface JobEnd {
  status: string
  output: string | null
  outputHash: string | null
  errorMessage: string | null
  artifactUri: string | null
  metrics: string | null
  /** Null: the end of a dead job, which the ledger knows when the callback is delivered. */
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
  /** The key that signs a client's callbacks. */
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

interface ClientCallbackDeps {
  deliveries: Deliveries
  ledger: Ledger
  /** The secret from which those of all clients are derived. */
  master: string
}

export function openCallbacks({ deliveries, ledger, master }: ClientCallbackDeps): Callbacks {
  const keyOf = accountKeys('pool', (text) => createHmac('sha256', master).update(text).digest('hex'))
  return {
    queue: ({ jobId, clientId: accountId, url, body }) =>
      deliveries.add(TOPIC, { subject: jobId, accountId, url, requestId: jobId, body, isTrusted: false }, jobId),
    keyOf,
    topics: deliveries
      .senders({ topic: TOPIC, keyOf: ({ accountId }) => (accountId === null ? null : keyOf(accountId)) })
      .map((sender) => ({
        ...sender,
        deliver: async (rows, signal) =>
          sender.deliver(await Promise.all(rows.map((row) => withFinishedAt(ledger, row))), signal),
      })),
  }
}

/** The body is the same at every attempt: a dead job stays as it is. */
async function withFinishedAt(ledger: Ledger, row: OutboxRow): Promise<OutboxRow> {
  const { payload, jobId } = row
  if (!isObject(payload) || typeof payload['body'] !== 'string' || jobId === null) return row
  const { body } = payload
  if (!body.endsWith(NO_FINISHED_AT)) return row
  const finishedAt = (await ledger.get(jobId))?.finishedAt ?? null
  if (finishedAt === null) return row
  const filled = `${body.slice(0, -NO_FINISHED_AT.length)}"finished_at":"${timestampOf(finishedAt)}"}`
  return { ...row, payload: { ...payload, body: filled } }
}

export const callbackSecretRoute =
  (callbacks: Callbacks): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = { ...documented, ...callbackSecretSchema }
    app.get('/v1/callbacks/secret', { schema }, showCallbackSecret(callbacks.keyOf))
  }
