// Where work comes from, for traces. No span id is handed from process to process: it is the hash of what the span is about, so
// that whoever ends a job or sends a callback can name the span above it.
//
//   request ──► job ──► attempt ──► delivery
//                └─► submit (of a job by an attempt) ──► job …
import { createHash } from 'node:crypto'
import { newBytes } from '../random.ts'

/** What submits a job or queues a signed request. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** The span that submits, where it has its id already: an attempt or a job. */
  readonly spanId?: string
  /** Of a request: the ids of the jobs and signed requests that it caused. Its span is named after the first. */
  readonly caused?: string[]
}

export interface RequestTrace extends TraceContext {
  readonly caused: string[]
  /** The caller's span. Null: the request begins the trace. */
  readonly callerSpanId: string | null
}

const spanId = (about: string): string => createHash('sha256').update(about).digest('hex').slice(0, 16)

/** The span of the request that caused this job or signed request. */
export const requestSpanId = (causedId: string): string => spanId(`request:${causedId}`)
export const jobSpanId = (jobId: string): string => spanId(`job:${jobId}`)
export const attemptSpanId = (jobId: string, attemptId: number): string => spanId(`attempt:${jobId}:${attemptId}`)

/** For a span that only its own process names. */
export const newSpanId = (): string => newBytes(8).toString('hex')

/** The span under which something about this job happened: its last attempt, or the job if nobody has begun it. */
export const lastSpanIdOf = ({ jobId, attemptId }: { jobId: string; attemptId: number }): string =>
  attemptId > 0 ? attemptSpanId(jobId, attemptId) : jobSpanId(jobId)

/** For a job that another one submits. */
export const traceOfJob = (job: { jobId: string; attemptId: number; traceId: string | null }): TraceContext | null =>
  job.traceId === null ? null : { traceId: job.traceId, spanId: lastSpanIdOf(job) }

const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/

/** Ids of jobs are 128 bits: one that came with no usable trace id is a trace of its own. */
export function traceIdFor(traceId: string | null, id: string): { traceId: string; isOwn: boolean } {
  return traceId !== null && TRACE_ID.test(traceId)
    ? { traceId, isOwn: false }
    : { traceId: id.replaceAll('-', ''), isOwn: true }
}

/**
 * Whether a trace is sent: every process decides alike. By the last 40 bits, which are random (the first are the time and a sequence).
 * A share of 0.1 sends every tenth trace.
 */
export const isSampled = (traceId: string, share: number): boolean => parseInt(traceId.slice(-10), 16) < share * 2 ** 40

/** W3C Trace Context. */
export const traceparentOf = (traceId: string, span: string, sampled: boolean): string =>
  `00-${traceId}-${span}-${sampled ? '01' : '00'}`
