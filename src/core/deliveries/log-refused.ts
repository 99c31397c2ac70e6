// A request that was refused or could not be sent writes one line with its ids and the reason; the last attempt's says that it
// is a dead letter now.
import type { Logger } from 'pino'
import type { JobSummary } from '../ledger/search.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { DeliveryAttempt } from './signed-delivery.ts'

interface LogRefusedDeps {
  ledger: () => Pick<Ledger, 'summaries'>
  log: Logger
}

export async function logRefused(
  { ledger, log }: LogRefusedDeps,
  refused: readonly DeliveryAttempt[],
  isGivenUp: (attempt: DeliveryAttempt) => boolean,
): Promise<void> {
  const jobIds = refused.flatMap(({ row }) => row.jobId ?? [])
  // Without the database the lines are written all the same; the outbox repeats what it could not settle.
  const jobs =
    jobIds.length === 0
      ? []
      : await ledger()
          .summaries(jobIds)
          .catch((): JobSummary[] => [])
  for (const attempt of refused) {
    const job = jobs.find(({ jobId }) => jobId === attempt.row.jobId)
    const fields = refusedFields(attempt, job)
    const { delivered } = attempt
    if (isGivenUp(attempt)) log.warn(fields, 'delivery given up: dead letter')
    else log.warn({ ...fields, retry_ms: delivered.ok ? null : (delivered.retryMs ?? null) }, 'delivery refused')
  }
}

/** Without the query of the URL, which may hold a secret. */
function refusedFields({ row, request, delivered, cause, peerCode }: DeliveryAttempt, job: JobSummary | undefined) {
  const url = URL.canParse(request.url) ? new URL(request.url) : null
  return {
    delivery_id: row.outboxId,
    topic: row.topic,
    subject: request.subject,
    job_id: row.jobId,
    attempt_id: job?.attemptId ?? null,
    trace_id: job?.traceId ?? null,
    request_id: request.requestId,
    url: url === null ? null : `${url.origin}${url.pathname}`,
    attempts: row.attempts,
    error: delivered.ok ? null : delivered.error,
    cause,
    peer_code: peerCode,
  }
}
