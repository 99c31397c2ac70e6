// /metrics answers a scraper with Prometheus text and other clients with a JSON summary, according to Accept. Labels are
// route patterns, never paths, which contain ids. /metrics/prometheus is the text whatever the Accept. The text costs up to
// 20 ms: concurrent scrapes share one, and scrapes take at most a tenth of the time.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Counter, Gauge, Histogram } from 'prom-client'
import { Type } from 'typebox'
import type { Metrics } from '../../metrics.ts'
import type { RequestGuard } from '../auth/guard.ts'
import { shared } from '../shared.ts'
import { Success, type EnvelopeFormat } from '../errors/envelope.ts'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]

const Count = Type.Integer()
const Counts = Type.Object({
  requests: Type.Object({ total: Count, errors: Count }),
  connections: Type.Object({ websocket: Count }),
  sessions: Type.Object({ active: Count }),
  queue: Type.Object({ length: Count }),
})

export interface Live {
  sessions: number
  queue: number
}

/** Counts of live sessions and of the queue, provided by the door that has them. */
export interface LiveCounts {
  provide(count: () => Live | Promise<Live>): void
  count(): Promise<Live>
}

export function openLiveCounts(): LiveCounts {
  let current: () => Live | Promise<Live> = () => ({ sessions: 0, queue: 0 })
  return {
    provide: (count) => (current = count),
    count: async () => current(),
  }
}

export interface HttpMetrics {
  answered(request: FastifyRequest, reply: FastifyReply): void
  totals(): { total: number; errors: number }
}

export function openHttpMetrics(registry: Metrics, sockets: () => number): HttpMetrics {
  const registers = [registry]
  const labelNames = ['method', 'route', 'status'] as const
  const requests = new Counter({ name: 'http_requests_total', help: 'Requests answered.', labelNames, registers })
  const seconds = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'From the first byte of a request to the last byte of its answer.',
    labelNames: ['method', 'route'],
    buckets: SECONDS,
    registers,
  })
  const connections = new Gauge({
    name: 'websocket_connections',
    help: 'Open WebSockets.',
    collect() {
      this.set(sockets())
    },
    registers: [],
  })
  registry.registerMetric(connections)
  let total = 0
  let errors = 0

  return {
    answered(request, reply) {
      total += 1
      if (reply.statusCode >= 400) errors += 1
      const method = request.method
      const route = request.routeOptions.url ?? 'unknown'
      requests.inc({ method, route, status: String(reply.statusCode) })
      seconds.observe({ method, route }, reply.elapsedTime / 1000)
    },
    totals: () => ({ total, errors }),
  }
}

// Both paths of a registry answer the same text.
const texts = new WeakMap<Metrics, () => Promise<string>>()

function textOf(registry: Metrics): () => Promise<string> {
  const text = texts.get(registry) ?? shared(() => registry.metrics())
  texts.set(registry, text)
  return text
}

/** Paths that answer the text whatever the Accept. */
export const textRoutes =
  (paths: readonly string[], registry: Metrics, requireToken: RequestGuard): FastifyPluginAsyncTypebox =>
  async (app) => {
    const text = textOf(registry)
    const schema = {
      tags: ['health'],
      summary: 'Metrics as Prometheus text.',
      response: { 200: { description: 'OK', content: { 'text/plain': { schema: Type.String() } } } },
    }
    for (const path of paths) {
      app.get(path, { config: { quiet: true }, onRequest: requireToken, schema }, async (_request, reply) =>
        reply.type(registry.contentType).send(await text()),
      )
    }
  }

export interface MetricsRouteDeps {
  registry: Metrics
  http: HttpMetrics
  liveCounts: LiveCounts
  envelope: EnvelopeFormat
  /** Protects the text. */
  requireToken: RequestGuard
}

export const metricsRoute =
  ({ registry, http, liveCounts, envelope, requireToken }: MetricsRouteDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      tags: ['health'],
      summary: 'Metrics: Prometheus text for a scraper, a JSON summary otherwise.',
      response: {
        200: {
          description: 'According to Accept.',
          content: { 'application/json': { schema: Success(Counts) }, 'text/plain': { schema: Type.String() } },
        },
      },
    }
    const text = textOf(registry)
    await app.register(textRoutes(['/metrics/prometheus'], registry, requireToken))
    app.get('/metrics', { config: { quiet: true }, schema }, async (request, reply) => {
      reply.header('vary', 'Accept')
      if (prefersText(request.headers.accept ?? '')) {
        await requireToken(request)
        return reply.type(registry.contentType).send(await text())
      }
      const { sessions, queue } = await liveCounts.count()
      return reply.send(
        envelope.success({
          requests: http.totals(),
          connections: { websocket: socketsOf(app) },
          sessions: { active: sessions },
          queue: { length: queue },
        }),
      )
    })
  }

export const socketsOf = (app: FastifyInstance): number => app.websocketServer.clients.size

/** A scraper accepts text/plain or OpenMetrics. So do some JSON clients, with a lower quality than application/json. */
export function prefersText(accept: string): boolean {
  let text = 0
  let json = 0
  for (const item of accept.slice(0, 1000).toLowerCase().split(',')) {
    const [type = '', ...parameters] = item.split(';').map((part) => part.trim())
    const given = parameters.find((parameter) => parameter.startsWith('q='))
    const quality = given === undefined ? 1 : Number(given.slice(2)) || 0
    if (type === 'text/plain' || type === 'application/openmetrics-text') text = Math.max(text, quality)
    if (type === 'application/json') json = Math.max(json, quality)
  }
  return text > json
}
