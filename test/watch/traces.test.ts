// Traces by OpenTelemetry, as a collector receives them from real servers.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  account,
  login,
  post,
  postSigned,
  solveBody,
  startReceiver,
  startServer,
  urlOf,
} from '../contract/challenge/setup.ts'
import { spawnReeve } from '../crash/reeve.ts'
import { freePort } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { attributeOf, startCollector, type SentSpan } from './collector.ts'
import { scrape, valueOf } from './scrape.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const CALLER = 'b7ad6b7169203331'
const traceparent = `00-${TRACE}-${CALLER}-01`
const SPANS = 'reeve_trace_spans_total'

const only = (spans: readonly SentSpan[], name: string): SentSpan => {
  const [found, ...more] = spans.filter((span) => span.name === name)
  assert(found !== undefined && more.length === 0, `one span "${name}" of ${spans.map((span) => span.name).join(', ')}`)
  return found
}

describe('traces', () => {
  test('one trace covers a request, its attempt and each delivery, across two processes', async (t) => {
    const collector = await startCollector(t)
    const receiver = await startReceiver(t, [503])
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b' }
    const server = await startServer(t, { role: 'serve', env })
    // Deliveries leave from either process.
    spawnReeve(
      t,
      server.dataDir,
      { ...server.env, DATABASE_URL: urlOf(server.at), OTEL_SERVICE_NAME: 'worker' },
      'work',
    )

    const body = solveBody('c1', `${receiver.url}/callback/c1`)
    const accepted = await postSigned(server.url, '/solve', body, { headers: { traceparent } })
    await until(
      'the spans came',
      () => collector.spans.length >= 5,
      () => collector.spans,
    )

    assert.equal(accepted.status, 202)
    const { spans } = collector
    assert.deepEqual([...new Set(spans.map(({ traceId }) => traceId))], [TRACE])
    const request = only(spans, 'POST /solve')
    const job = only(spans, 'job solve')
    const attempt = only(spans, 'attempt solve')
    const deliveries = spans.filter(({ name }) => name === 'deliver challenge_callback')
    assert.deepEqual(
      [request, job, attempt, ...deliveries].map(({ parentSpanId, kind }) => [parentSpanId, kind]),
      [
        [CALLER, 2],
        [request.spanId, 1],
        [job.spanId, 5],
        [attempt.spanId, 3],
        [attempt.spanId, 3],
      ],
    )
    assert.deepEqual(
      deliveries.map((one) => [attributeOf(one, 'http.response.status_code'), one.status.code]).toSorted(),
      [
        ['200', undefined],
        ['503', 2],
      ],
    )
    assert.deepEqual(
      receiver.received.map(({ headers }) => headers.traceparent).toSorted(),
      deliveries.map(({ spanId }) => `00-${TRACE}-${spanId}-01`).toSorted(),
    )
    const services = new Set(collector.requests.map(({ service }) => JSON.stringify(service)))
    assert.deepEqual([...services].toSorted(), ['{"stringValue":"reeve"}', '{"stringValue":"worker"}'])
    assert(collector.requests.every(({ headers }) => headers['x-key'] === 'a b'))
  })

  test('a retried job has a span for each attempt, and a dead one says why', async (t) => {
    const collector = await startCollector(t)
    const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`, JOB_RETRY_BASE_MS: '1' }
    const { url } = await startServer(t, { env })
    const admin = { ...(await login(url)), traceparent }
    const submit = (payload: object) => post(`${url}/admin/jobs`, JSON.stringify({ kind: 'echo', payload }), admin)

    const retried = await submit({ fail: 'not yet', fail_until_attempt: 2 })
    const dead = await submit({ fail: 'never', final: true })
    await until(
      'the spans came',
      () => collector.spans.length >= 7,
      () => collector.spans,
    )

    const of = ({ body }: { body: { job_id: string } }, name: string) =>
      collector.spans.filter((span) => span.name === name && attributeOf(span, 'reeve.job.id') === body.job_id)
    const [job] = of(retried, 'job echo')
    assert.deepEqual(
      of(retried, 'attempt echo')
        .map((span) => [span.parentSpanId, attributeOf(span, 'reeve.attempt.outcome'), span.status.message])
        .toSorted(),
      [
        [job?.spanId, 'done', undefined],
        [job?.spanId, 'failed', 'not yet'],
      ],
    )
    assert.deepEqual([job?.status, attributeOf(job ?? only([], 'job'), 'reeve.job.attempts')], [{}, '2'])
    assert.deepEqual(of(dead, 'job echo')[0]?.status, { code: 2, message: 'never' })
    const requests = collector.spans.filter(({ name }) => name === 'POST /admin/jobs').map(({ spanId }) => spanId)
    const parents = collector.spans.filter(({ name }) => name === 'job echo').map((span) => span.parentSpanId)
    assert.deepEqual(requests.toSorted(), parents.toSorted(), 'each of two requests of a trace is above its own job')
  })

  test('a challenge and its answer are one trace across both sides', async (t) => {
    const collector = await startCollector(t)
    const port = String(await freePort())
    const here = `http://127.0.0.1:${port}`
    const sides = { SERVER_PORT: port, SOLVER_URL: here, PUBLIC_CALLBACK_HOST: here }
    const { url } = await startServer(t, { env: { ...sides, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
    const owner = await account(url, 'owner')
    const challenge = { challenge_id: 'c1', problem: { type: 'math', expression: '1+1' }, answer: '2' }
    await post(`${url}/challenges`, JSON.stringify({ ...challenge, validation_rule: { type: 'ExactMatch' } }), owner)

    await post(`${url}/challenges/c1/send`, '{}', { ...owner, traceparent })
    await until(
      'the spans came',
      () => collector.spans.length >= 6,
      () => collector.spans,
    )

    const { spans } = collector
    const way = [
      only(spans, 'POST /challenges/:id/send'),
      only(spans, 'deliver challenge_send'),
      only(spans, 'POST /solve'),
      only(spans, 'job solve'),
      only(spans, 'attempt solve'),
      only(spans, 'deliver challenge_callback'),
    ]
    assert.deepEqual(
      way.map(({ traceId, parentSpanId }) => [traceId, parentSpanId]),
      [CALLER, ...way.slice(0, -1).map(({ spanId }) => spanId)].map((parent) => [TRACE, parent]),
    )
  })

  test('a share of 0 sends nothing, and receivers are told that the trace is not sampled', async (t) => {
    const collector = await startCollector(t)
    const receiver = await startReceiver(t)
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: '0' }
    const server = await startServer(t, { env })

    await postSigned(server.url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`), { headers: { traceparent } })
    await until('the callback came', () => receiver.received.length === 1)
    await server.stop()

    assert.match(String(receiver.received[0]?.headers.traceparent), new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`))
    assert.deepEqual(collector.requests, [])
  })

  test('traces are off by default', async (t) => {
    const receiver = await startReceiver(t)
    const { url } = await startServer(t)

    await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`), { headers: { traceparent } })
    await until('the callback came', () => receiver.received.length === 1)

    assert.equal(receiver.received[0]?.headers.traceparent, undefined)
    assert.equal(valueOf(await scrape(url), SPANS), undefined)
  })

  test('a collector that is away delays nothing: its spans are dropped at the stop, and the log says why', async (t) => {
    const lines: string[] = []
    const receiver = await startReceiver(t)
    const away = `http://127.0.0.1:${await freePort()}`
    const server = await startServer(t, { lines, env: { OTEL_EXPORTER_OTLP_ENDPOINT: away, LOG_LEVEL: 'info' } })
    const callback = `${receiver.url}/callback/c1`

    const accepted = await postSigned(server.url, '/solve', solveBody('c1', callback))
    await until('the callback came', () => receiver.received.length === 1)
    await until('it was tried', () => lines.some((line) => line.includes('traces could not be sent')))
    const ready = await fetch(`${server.url}/readyz`)
    const text = await scrape(server.url)
    await server.stop()

    assert.deepEqual([accepted.status, ready.status], [202, 200])
    assert.equal(valueOf(text, SPANS, { outcome: 'sent' }), '0')
    const [line = '{}'] = lines.filter((one) => one.includes('traces could not be sent'))
    assert.equal(JSON.parse(line).error, 'ECONNREFUSED')
  })
})
