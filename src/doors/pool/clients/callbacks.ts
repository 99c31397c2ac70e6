// A client that named a callback_url is told how its job ended: signed as the challenge door signs, with a secret of the
// client's own, and tried as often.
import { createHmac } from 'node:crypto'
import type { Database } from '../../../core/db/database.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import {
  signedDeliveries,
  type Attempt,
  type SendingDeps,
  type SignedLetter,
  type SigningKey,
} from '../../../core/outbound/signed-delivery.ts'
import type { Delivery } from '../../../core/outbox/delivery.ts'
import { jsonText, rawOrNull } from '../raw.ts'
import { isObject } from '../../../core/is-object.ts'

const TOPIC = 'pool_callback'

const QUEUE = `
  insert into outbox_events (job_id, topic, payload)
  select job_id, '${TOPIC}', payload from json_to_recordset($1) as r (job_id uuid, payload json)
      on conflict (job_id, topic) do nothing`

const LOG = `
  insert into pool_deliveries (job_id, outbox_id, attempt, url, status_code, error, duration_ms)
  select job_id, outbox_id, attempt, url, status_code, error, duration_ms
    from json_to_recordset($1) as r (job_id uuid, outbox_id bigint, attempt integer, url text, status_code integer,
         error text, duration_ms integer)`

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

interface Letter extends SignedLetter {
  jobId: string
  clientId: number
}

export interface Callbacks {
  /** With the end of the job. */
  queue(callback: Callback): Effect
  /** What a client's callbacks are signed with. */
  keyOf(clientId: number): SigningKey
  deliveries(deps: SendingDeps): Delivery[]
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
export function openCallbacks({ database, master }: { database: Database; master: string }): Callbacks {
  const keyOf = (clientId: number) => ({
    keyId: `pool-${clientId}`,
    secret: createHmac('sha256', master).update(`callback ${clientId}`).digest('hex'),
  })
  return {
    queue: ({ jobId, clientId, url, body }) => ({
      sql: QUEUE,
      row: { job_id: jobId, payload: { job_id: jobId, client_id: clientId, url, body } },
    }),
    keyOf,
    deliveries: (deps) =>
      signedDeliveries<Letter>(deps, {
        topic: TOPIC,
        letterFrom,
        keyOf: ({ clientId }) => keyOf(clientId),
        log: (attempts) => log(database, attempts),
      }),
  }
}

async function log(database: Database, attempts: readonly Attempt<Letter>[]): Promise<void> {
  const lines = attempts.map(({ row, letter, answer, durationMs }) => ({
    job_id: letter.jobId,
    outbox_id: row.outboxId,
    attempt: row.attempts,
    url: letter.url,
    status_code: answer.ok ? answer.status : null,
    error: answer.ok ? null : answer.code,
    duration_ms: durationMs,
  }))
  await database.query(LOG, [JSON.stringify(lines)])
}

function letterFrom(payload: unknown): Letter {
  const fields = isObject(payload) ? payload : {}
  return {
    jobId: String(fields['job_id']),
    clientId: Number(fields['client_id']),
    url: String(fields['url']),
    requestId: String(fields['job_id']),
    body: String(fields['body']),
    isTrusted: false,
  }
}
