// What each span says. Names and attributes have few values or are ids; none holds a payload, a result or a secret.
// Requests and deliveries are timed by the process's clock, jobs and attempts by the database's.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DeliveryAttempt } from '../deliveries/signed-delivery.ts'
import type { EndedAttempt, EndedJob } from '../ledger/history.ts'
import type { PreparedJob } from '../ledger/submit/submit.ts'
import { attemptSpanId, jobSpanId, requestSpanId, traceIdFor, type RequestTrace } from './context.ts'
import type { Span } from './otlp.ts'

/** The job, and under it each attempt. */
export function jobSpans(job: EndedJob): Span[] {
  const { jobId, kind, state, reason, attemptId, replayOf } = job
  const { traceId, isOwn } = traceIdFor(job.traceId, jobId)
  const cause = replayOf === null ? requestSpanId(jobId) : jobSpanId(replayOf)
  const whole: Span = {
    traceId,
    spanId: jobSpanId(jobId),
    parentSpanId: isOwn ? null : cause,
    name: `job ${kind}`,
    kind: 'internal',
    startMs: job.submittedAt.getTime(),
    endMs: job.finishedAt.getTime(),
    attributes: {
      'reeve.job.id': jobId,
      'reeve.job.kind': kind,
      'reeve.job.state': state,
      'reeve.job.attempts': attemptId,
      'reeve.account.id': job.accountId,
    },
    error: state === 'dead' ? (reason ?? 'dead') : null,
  }
  return [whole, ...job.attempts.map((attempt) => attemptSpan(job, traceId, attempt))]
}

const attemptSpan = ({ jobId, kind }: EndedJob, traceId: string, attempt: EndedAttempt): Span => ({
  traceId,
  spanId: attemptSpanId(jobId, attempt.attemptId),
  parentSpanId: jobSpanId(jobId),
  name: `attempt ${kind}`,
  kind: 'consumer',
  startMs: attempt.startedAt.getTime(),
  endMs: attempt.endedAt.getTime(),
  attributes: {
    'reeve.job.id': jobId,
    'reeve.job.kind': kind,
    'reeve.attempt.number': attempt.attemptId,
    'reeve.attempt.outcome': attempt.outcome,
    'reeve.attempt.owner': attempt.owner,
  },
  error: attempt.outcome === 'done' || attempt.outcome === 'released' ? null : (attempt.error ?? attempt.outcome),
})

/** A request that caused something, and a span for each further thing that it caused. */
export function requestSpans(
  request: FastifyRequest,
  reply: FastifyReply,
  { traceId, callerSpanId, caused: [first = '', ...further] }: RequestTrace,
  nowMs: number,
): Span[] {
  const { url: route = '' } = request.routeOptions
  const spanId = requestSpanId(first)
  const times = { startMs: nowMs - reply.elapsedTime, endMs: nowMs }
  const whole: Span = {
    traceId,
    spanId,
    parentSpanId: callerSpanId,
    name: `${request.method} ${route}`,
    kind: 'server',
    ...times,
    attributes: {
      'http.request.method': request.method,
      'http.route': route,
      'http.response.status_code': reply.statusCode,
      'reeve.request.id': request.id,
      'reeve.account.id': request.account?.accountId ?? null,
    },
    error: reply.statusCode >= 500 ? `HTTP ${reply.statusCode}` : null,
  }
  const submits = further.map((id): Span => submitSpan({ traceId, id, parentSpanId: spanId, ...times }))
  return [whole, ...submits]
}

interface Submit {
  traceId: string
  id: string
  parentSpanId: string
  startMs: number
  endMs: number
}

/** Takes the place of a request above a job that has none of its own. */
const submitSpan = ({ id, ...same }: Submit): Span => ({
  ...same,
  spanId: requestSpanId(id),
  name: 'submit',
  kind: 'producer',
  attributes: { 'reeve.job.id': id },
  error: null,
})

/** A job that another job's attempt submits. */
export const submitSpanOf = ({ jobId, trace }: PreparedJob, nowMs: number): Span | null =>
  trace?.spanId === undefined
    ? null
    : submitSpan({ traceId: trace.traceId, id: jobId, parentSpanId: trace.spanId, startMs: nowMs, endMs: nowMs })

export interface DeliveryTrace {
  traceId: string
  spanId: string
  parentSpanId: string | null
}

export function deliverySpan(trace: DeliveryTrace, attempt: DeliveryAttempt, nowMs: number): Span {
  const { row, request, answer, delivered, durationMs } = attempt
  const url = URL.canParse(request.url) ? new URL(request.url) : null
  return {
    ...trace,
    name: `deliver ${row.topic}`,
    kind: 'client',
    startMs: nowMs - durationMs,
    endMs: nowMs,
    attributes: {
      'http.request.method': 'POST',
      'http.request.resend_count': row.attempts - 1,
      'http.response.status_code': answer.ok ? answer.status : null,
      'server.address': url?.hostname ?? null,
      'server.port': url === null || url.port === '' ? null : Number(url.port),
      'reeve.delivery.id': row.outboxId,
      'reeve.delivery.topic': row.topic,
      'reeve.job.id': row.jobId,
      'reeve.request.id': request.requestId,
    },
    error: delivered.ok ? null : delivered.error,
  }
}
