// The settings of OpenTelemetry that this server reads, under their standard names.
import { text, type Settings, type Values } from '../settings.ts'

// Empty: not set.
const HTTP_URL = /^(?:https?:\/\/[^\s@]+)?$/
const HEADERS = /^(?:[\w-]+=[^,\r\n]*(?:,\s*[\w-]+=[^,\r\n]*)*)?$/
const SHARE = /^(?:0|1|0?\.\d+|1\.0+)$/

export const TRACE_SETTINGS = {
  OTEL_EXPORTER_OTLP_ENDPOINT: text({
    or: '',
    pattern: HTTP_URL,
    about:
      'OpenTelemetry collector (OTLP over HTTP, JSON): traces are sent to `/v1/traces` under it. Empty: no traces.',
  }),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: text({
    or: '',
    pattern: HTTP_URL,
    about: 'Where traces are sent, as a whole URL, in place of OTEL_EXPORTER_OTLP_ENDPOINT.',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: text({
    or: '',
    secret: true,
    pattern: HEADERS,
    about: 'Headers of requests to the collector: `name=value`, comma-separated, values percent-encoded.',
  }),
  OTEL_SERVICE_NAME: text({ or: 'reeve', about: 'Name of this deployment in traces.' }),
  OTEL_TRACES_SAMPLER_ARG: text({
    or: '1',
    pattern: SHARE,
    about: 'Share of traces that is sent, from 0 to 1. The same for all processes; decided by the trace id.',
  }),
} satisfies Settings

type TraceSettings = Values<typeof TRACE_SETTINGS>

export interface Collector {
  url: string
  headers: Readonly<Record<string, string>>
  service: string
  share: number
}

/** Null: none is set. */
export function collectorOf(config: TraceSettings): Collector | null {
  const base = config.OTEL_EXPORTER_OTLP_ENDPOINT
  const url = config.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || (base === '' ? '' : `${base.replace(/\/$/, '')}/v1/traces`)
  if (url === '') return null
  const headers = headersFrom(config.OTEL_EXPORTER_OTLP_HEADERS)
  return { url, headers, service: config.OTEL_SERVICE_NAME, share: Number(config.OTEL_TRACES_SAMPLER_ARG) }
}

function headersFrom(raw: string): Record<string, string> {
  const pairs = raw === '' ? [] : raw.split(',')
  return Object.fromEntries(
    pairs.map((pair) => {
      const [name = '', ...value] = pair.trim().split('=')
      return [name.toLowerCase(), decoded(value.join('='))]
    }),
  )
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    return value
  }
}
