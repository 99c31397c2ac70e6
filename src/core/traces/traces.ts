// Traces by OpenTelemetry: one trace from a client's request over the job and its attempts to the callback. Off unless an endpoint
// is set. Spans are made when something has ended: of a job and its attempts by the process that ended the job, from the ledger's
// own rows; of a request and of a delivery by the process that answered or sent it. See context.ts for how spans find their parents.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { systemClock } from '../clock.ts'
import { withTimeout } from '../concurrency/waiter.ts'
import type { Config } from '../config.ts'
import type { DeliveryAttempt } from '../deliveries/signed-delivery.ts'
import { requestFrom } from '../deliveries/signed-request.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { JobSummary } from '../ledger/search.ts'
import type { PreparedJob } from '../ledger/submit/submit.ts'
import { sampledLog } from '../log/sampled-log.ts'
import type { Loop } from '../loop.ts'
import type { Metrics } from '../metrics.ts'
import type { OutboxRow } from '../outbox/delivery.ts'
import { traceOf } from '../http/request/request.ts'
import { isSampled, lastSpanIdOf, newSpanId, requestSpanId, traceIdFor, traceparentOf } from './context.ts'
import { openExporter, type Exporter } from './exporter.ts'
import { collectorOf } from './settings.ts'
import { deliverySpan, jobSpans, requestSpans, submitSpanOf, type DeliveryTrace } from './spans.ts'
import type { Span } from './otlp.ts'

const ENDED_MAX = 10_000 // waiting to be read
const ENDED_PER_READ = 500
const SUMMARIES_WITHIN_MS = 1000
const CLOSE_WITHIN_MS = 2000

export interface DeliveryTraces {
  /** Of rows that are about to be sent, by their ids. A row may have none. */
  of(rows: readonly OutboxRow[]): Promise<ReadonlyMap<number, DeliveryTrace>>
  traceparentOf(trace: DeliveryTrace): string
  sent(trace: DeliveryTrace, attempt: DeliveryAttempt): void
}

export interface Traces {
  /** For `LedgerOptions.onSubmit`. */
  onSubmit(job: PreparedJob): void
  /** For `LedgerOptions.onEnded`. Never waits, never throws. */
  onEnded(jobIds: readonly string[]): void
  onResponse(request: FastifyRequest, reply: FastifyReply): void
  deliveries: DeliveryTraces
  loops: readonly Loop[]
  close(): Promise<void>
}

export interface TracesDeps {
  config: Config
  metrics: Metrics
  log: Logger
  /** Names this process. */
  instance: string
  ledger: () => Pick<Ledger, 'endedJobs' | 'summaries'>
}

/** Null: traces are off. */
export function openTraces({ config, metrics, log, instance, ledger }: TracesDeps): Traces | null {
  const collector = collectorOf(config)
  if (collector === null) return null
  const { share, ...address } = collector
  const exporter = openExporter({ ...address, instance, metrics, log })
  const add = (span: Span) => isSampled(span.traceId, share) && exporter.add(span)
  const ended = openEndedJobs({ read: (jobIds) => ledger().endedJobs(jobIds), add, exporter, log })
  return {
    onSubmit(job) {
      job.trace?.caused?.push(job.jobId)
      const span = submitSpanOf(job, systemClock.now())
      if (span !== null) add(span)
    },
    onEnded: ended.push,
    onResponse(request, reply) {
      const trace = traceOf(request.raw)
      if (trace.caused.length > 0) requestSpans(request, reply, trace, systemClock.now()).forEach(add)
    },
    deliveries: {
      of: (rows) => deliveryTraces(rows, ledger()),
      traceparentOf: ({ traceId, spanId }) => traceparentOf(traceId, spanId, isSampled(traceId, share)),
      sent: (trace, attempt) => void add(deliverySpan(trace, attempt, systemClock.now())),
    },
    loops: [exporter.loop],
    async close() {
      await ended.close()
      await exporter.close()
    },
  }
}

interface EndedJobsDeps {
  read: Ledger['endedJobs']
  add(span: Span): void
  exporter: Exporter
  log: Logger
}

/** Reads jobs that have ended, some hundred with one statement and one statement at a time. */
function openEndedJobs({ read, add, exporter, log }: EndedJobsDeps) {
  const lines = sampledLog(log)
  const waiting: string[] = []
  let reading: Promise<void> | null = null

  const readAll = async () => {
    while (waiting.length > 0) {
      const jobIds = waiting.splice(0, ENDED_PER_READ)
      try {
        for (const job of await read(jobIds)) jobSpans(job).forEach(add)
      } catch (error) {
        exporter.drop(jobIds.length)
        lines.warn({ err: error, jobs: jobIds.length }, 'traces of ended jobs could not be read')
      }
    }
    reading = null
  }

  return {
    push(jobIds: readonly string[]) {
      const fitting = jobIds.slice(0, ENDED_MAX - waiting.length)
      if (fitting.length < jobIds.length) exporter.drop(jobIds.length - fitting.length)
      waiting.push(...fitting)
      reading ??= readAll()
    },
    /** What cannot be read soon is dropped: it would hold up the stop. */
    async close() {
      const isRead = withTimeout(reading ?? Promise.resolve(), CLOSE_WITHIN_MS, 'The database gave no answer.')
      await isRead.catch(() => exporter.drop(waiting.splice(0).length))
    },
  }
}

/** Under the job's last attempt; or, where no job is behind it, under the request that queued it. */
async function deliveryTraces(
  rows: readonly OutboxRow[],
  ledger: Pick<Ledger, 'summaries'>,
): Promise<Map<number, DeliveryTrace>> {
  const jobIds = rows.flatMap(({ jobId }) => jobId ?? [])
  // Without an answer it is sent without a trace: waiting would use up the time for which the rows are claimed.
  const read = async () => withTimeout(ledger.summaries(jobIds), SUMMARIES_WITHIN_MS, 'No answer in time.')
  const jobs = jobIds.length === 0 ? [] : await read().catch((): JobSummary[] => [])
  const jobOf = new Map(jobs.map((job) => [job.jobId, job]))
  const found = new Map<number, DeliveryTrace>()
  for (const { outboxId, jobId, payload } of rows) {
    const spanId = newSpanId()
    const job = jobId === null ? undefined : jobOf.get(jobId)
    if (job !== undefined) {
      const { traceId } = traceIdFor(job.traceId, job.jobId)
      found.set(outboxId, { traceId, spanId, parentSpanId: lastSpanIdOf(job) })
      continue
    }
    const { requestId, traceId } = requestFrom(payload)
    if (traceId !== undefined) found.set(outboxId, { traceId, spanId, parentSpanId: requestSpanId(requestId) })
  }
  return found
}
