// OTLP in its JSON form (opentelemetry-proto, trace.proto): ids are hexadecimal, 64-bit integers are texts. By hand, because the
// official exporter needs a newer Node than this server does, and what is sent here is one small document.
import { VERSION } from '../version.ts'

type AttributeValue = string | number | boolean | null

export interface Span {
  traceId: string
  spanId: string
  parentSpanId: string | null
  name: string
  kind: keyof typeof KINDS
  startMs: number
  endMs: number
  /** Null values are left out. */
  attributes: Readonly<Record<string, AttributeValue>>
  /** Why it is an error. Null: it is none. */
  error: string | null
}

const KINDS = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 } as const
const STATUS_ERROR = 2
const TEXT_CHARS_MAX = 1000

export const exportRequest = (service: string, instance: string, spans: readonly Span[]) => ({
  resourceSpans: [
    {
      resource: {
        attributes: attributesOf({
          'service.name': service,
          'service.version': VERSION,
          'service.instance.id': instance,
        }),
      },
      scopeSpans: [{ scope: { name: 'reeve', version: VERSION }, spans: spans.map(spanOf) }],
    },
  ],
})

const spanOf = (span: Span) => ({
  traceId: span.traceId,
  spanId: span.spanId,
  ...(span.parentSpanId === null ? {} : { parentSpanId: span.parentSpanId }),
  name: span.name,
  kind: KINDS[span.kind],
  startTimeUnixNano: nanoOf(span.startMs),
  endTimeUnixNano: nanoOf(Math.max(span.startMs, span.endMs)),
  attributes: attributesOf(span.attributes),
  status: span.error === null ? {} : { code: STATUS_ERROR, message: span.error.slice(0, TEXT_CHARS_MAX) },
})

const nanoOf = (ms: number): string => String(BigInt(Math.round(ms * 1000)) * 1000n)

const attributesOf = (attributes: Span['attributes']) =>
  Object.entries(attributes).flatMap(([key, value]) => (value === null ? [] : [{ key, value: valueOf(value) }]))

function valueOf(value: string | number | boolean) {
  if (typeof value === 'string') return { stringValue: value.slice(0, TEXT_CHARS_MAX) }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
