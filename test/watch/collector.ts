// An OpenTelemetry collector: takes OTLP over HTTP as JSON, checks its form, and keeps the spans.
import assert from 'node:assert/strict'
import http from 'node:http'
import type { TestContext } from 'node:test'
import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { listen } from '../support/listen.ts'

const Nano = Type.String({ pattern: '^\\d{19}$' })
const Attribute = Type.Object({
  key: Type.String(),
  value: Type.Union([
    Type.Object({ stringValue: Type.String() }, { additionalProperties: false }),
    Type.Object({ intValue: Type.String({ pattern: '^-?\\d+$' }) }, { additionalProperties: false }),
    Type.Object({ doubleValue: Type.Number() }, { additionalProperties: false }),
    Type.Object({ boolValue: Type.Boolean() }, { additionalProperties: false }),
  ]),
})
const SentSpan = Type.Object(
  {
    traceId: Type.String({ pattern: '^(?!0{32})[0-9a-f]{32}$' }),
    spanId: Type.String({ pattern: '^(?!0{16})[0-9a-f]{16}$' }),
    parentSpanId: Type.Optional(Type.String({ pattern: '^[0-9a-f]{16}$' })),
    name: Type.String({ minLength: 1 }),
    kind: Type.Integer({ minimum: 1, maximum: 5 }),
    startTimeUnixNano: Nano,
    endTimeUnixNano: Nano,
    attributes: Type.Array(Attribute),
    status: Type.Object({ code: Type.Optional(Type.Integer()), message: Type.Optional(Type.String()) }),
  },
  { additionalProperties: false },
)
const Sent = Compile(
  Type.Object({
    resourceSpans: Type.Array(
      Type.Object({
        resource: Type.Object({ attributes: Type.Array(Attribute) }),
        scopeSpans: Type.Array(
          Type.Object({ scope: Type.Object({ name: Type.String() }), spans: Type.Array(SentSpan) }),
        ),
      }),
    ),
  }),
)

export type SentSpan = Static<typeof SentSpan>

export interface SpanCollector {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  url: string
  spans: SentSpan[]
  requests: { headers: http.IncomingHttpHeaders; service: unknown }[]
}

/** `answers`: the statuses of the first requests. Spans of a request that it refuses are not kept. */
export async function startCollector(t: TestContext, answers: readonly number[] = []): Promise<SpanCollector> {
  const spans: SentSpan[] = []
  const requests: SpanCollector['requests'] = []
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString())
    assert.deepEqual([request.method, request.url], ['POST', '/v1/traces'])
    if (!Sent.Check(body)) throw new Error(JSON.stringify(Sent.Errors(body)))
    const service = body.resourceSpans[0]?.resource.attributes.find(({ key }) => key === 'service.name')?.value
    requests.push({ headers: request.headers, service })
    const status = answers[requests.length - 1] ?? 200
    if (status === 200)
      spans.push(...body.resourceSpans.flatMap((one) => one.scopeSpans.flatMap((scope) => scope.spans)))
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  })
  return { url: `http://127.0.0.1:${await listen(t, server)}`, spans, requests }
}

/** The attribute as it was sent. */
export const attributeOf = (span: SentSpan, key: string): unknown =>
  Object.values(span.attributes.find((one) => one.key === key)?.value ?? {})[0]
