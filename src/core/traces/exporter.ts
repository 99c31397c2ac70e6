// Sends spans to the operator's collector. The queue is bounded: what does not fit, and what the collector refuses, is dropped and
// counted. While the collector is away the oldest spans wait; nothing else does.
import type { Logger } from 'pino'
import { Counter } from 'prom-client'
import { sampledLog } from '../log/sampled-log.ts'
import { Wake, type Loop } from '../loop.ts'
import type { Metrics } from '../metrics.ts'
import { exportRequest, type Span } from './otlp.ts'

const QUEUE_MAX = 8192
const BATCH_MAX = 512
const SEND_EVERY_MS = 1000
const TIMEOUT_MS = 10_000
const LAST_TIMEOUT_MS = 2000
const BACKOFF_MS_MAX = 30_000

export interface ExporterOptions {
  url: string
  headers: Readonly<Record<string, string>>
  service: string
  /** Names this process. */
  instance: string
  metrics: Metrics
  log: Logger
}

export interface Exporter {
  add(span: Span): void
  /** Counts spans that could not be made. */
  drop(count: number): void
  loop: Loop
  /** Tries once to send what waits. */
  close(): Promise<void>
}

export function openExporter({ url, headers, service, instance, metrics, log }: ExporterOptions): Exporter {
  const lines = sampledLog(log)
  const queue: Span[] = []
  const wake = new Wake()
  let failures = 0
  let notBefore = 0
  const spans = new Counter({
    name: 'reeve_trace_spans_total',
    help: 'Spans of traces that were sent to the collector, or dropped: the queue was full, or the collector refused them.',
    labelNames: ['outcome'],
    registers: [metrics],
  })
  for (const outcome of ['sent', 'dropped']) spans.inc({ outcome }, 0)
  const drop = (count: number) => spans.inc({ outcome: 'dropped' }, count)

  const sendBatch = async (signal: AbortSignal): Promise<boolean> => {
    const batch = queue.slice(0, BATCH_MAX)
    const body = JSON.stringify(exportRequest(service, instance, batch))
    const outcome = await post({ url, headers, body, signal })
    if (outcome.ok || !outcome.again) {
      queue.splice(0, batch.length)
      spans.inc({ outcome: outcome.ok ? 'sent' : 'dropped' }, batch.length)
    }
    if (outcome.ok) failures = 0
    else lines.warn({ error: outcome.error, spans: batch.length, again: outcome.again }, 'traces could not be sent')
    return outcome.ok || !outcome.again
  }

  return {
    add(span) {
      if (queue.length >= QUEUE_MAX) return drop(1)
      queue.push(span)
      if (queue.length === BATCH_MAX) wake.ring()
    },
    drop,
    loop: {
      name: 'send-traces',
      everyMs: SEND_EVERY_MS,
      wake,
      async runOnce(signal) {
        if (queue.length === 0 || performance.now() < notBefore) return false
        if (await sendBatch(AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])))
          return queue.length >= BATCH_MAX
        failures += 1
        notBefore = performance.now() + Math.min(BACKOFF_MS_MAX, SEND_EVERY_MS * 2 ** Math.min(failures, 10))
        return false
      },
    },
    async close() {
      const signal = AbortSignal.timeout(LAST_TIMEOUT_MS)
      while (queue.length > 0 && !signal.aborted && (await sendBatch(signal))) continue
      drop(queue.length)
      queue.length = 0
    },
  }
}

type PostOutcome = { ok: true } | { ok: false; error: string; again: boolean }

interface Post {
  url: string
  headers: Readonly<Record<string, string>>
  body: string
  signal: AbortSignal
}

/** The statuses after which OTLP lets a client try again. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504])

async function post({ url, headers, body, signal }: Post): Promise<PostOutcome> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
      redirect: 'manual',
      signal,
    })
    await answer.arrayBuffer() // so that the connection can be used again
    return answer.ok ? { ok: true } : { ok: false, error: `HTTP ${answer.status}`, again: AGAIN.has(answer.status) }
  } catch (error) {
    return { ok: false, error: messageOf(error), again: true }
  }
}

/** fetch says "fetch failed"; the cause says why. */
function messageOf(error: unknown): string {
  const { cause } = error instanceof Error ? error : {}
  if (cause instanceof Error) return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.message
  return error instanceof Error ? error.message : String(error)
}
