// Hooks for every request: unknown paths, log lines, metrics, and the opening and closing of WebSockets.
import type { WebsocketPluginOptions } from '@fastify/websocket'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { chooseProtocol } from './auth/bearer-protocol.ts'
import { endFailed } from './sockets/forget-request.ts'
import { STOPPING, type Hub } from './sockets/hub.ts'
import type { Methods } from './routes/methods.ts'
import type { HttpMetrics } from './routes/metrics.ts'
import { HttpError } from './errors/http-error.ts'
import { pathOf } from './errors/error-format.ts'
import type { Traces } from '../traces/traces.ts'

const SOCKET_MESSAGE_BYTES_MAX = 64 * 1024
const LOGGED_PATH_CHARS_MAX = 200

/** Refuses an unknown path, method or protocol before the body is read. */
export function refuseUnknown(app: FastifyInstance, methods: Methods, draining: AbortSignal): void {
  app.addHook('onRoute', (route) => {
    if (route.websocket === true) route.config = { ...route.config, speaksWebSocket: true }
  })
  app.setNotFoundHandler((request) => {
    throw unknownPath(request, methods)
  })
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404 && request.method === 'OPTIONS' && methods.of(request.url).length > 0) {
      reply.code(204).header('allow', methods.of(request.url).join(', ')).send()
      return
    }
    if (request.is404) throw unknownPath(request, methods)
    if (request.ws) {
      if (request.routeOptions.config.speaksWebSocket !== true) {
        throw new HttpError(400, 'bad_request', 'This path does not speak WebSocket.')
      }
      if (draining.aborted) throw new HttpError(503, 'unavailable', 'The server is stopping.')
    }
    done()
  })
}

/** A kept-alive connection would delay the stop. */
export function closeConnectionsOf(app: FastifyInstance, draining: AbortSignal): void {
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (draining.aborted) reply.header('connection', 'close')
    done()
  })
}

function unknownPath(request: FastifyRequest, methods: Methods): HttpError {
  const allowed = methods.of(request.url)
  if (allowed.length === 0) return new HttpError(404, 'not_found', 'Not Found')
  return new HttpError(405, 'method_not_allowed', 'Method Not Allowed', { headers: { allow: allowed.join(', ') } })
}

/** A WebSocket has no response that ends: it is logged when it opens and when it closes. */
export function writeSocketLines(app: FastifyInstance): void {
  app.addHook('preHandler', (request, _reply, done) => {
    if (!request.ws) return done()
    const { log } = app // not that of the request, which would be kept as long as the socket
    const line = {
      request_id: request.id,
      trace_id: request.trace.traceId,
      route: request.routeOptions.url,
      account_id: request.account?.accountId ?? null,
    }
    log.info(line, 'websocket opened')
    const openedAt = performance.now()
    request.raw.socket.once('close', () => {
      log.info({ ...line, ms: Math.round(performance.now() - openedAt) }, 'websocket closed')
    })
    done()
  })
}

/** Logs the route's pattern where there is one, since a path may contain what a log must not. Never the query. */
export function writeRequestLines(app: FastifyInstance, http: HttpMetrics): void {
  app.addHook('onResponse', (request, reply, done) => {
    http.answered(request, reply)
    const { url: route, config } = request.routeOptions
    const line = {
      method: request.method,
      ...(route === undefined ? { path: pathOf(request.url).slice(0, LOGGED_PATH_CHARS_MAX) } : { route }),
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      ...(request.account === null ? {} : { account_id: request.account.accountId }),
    }
    if (config.quiet === true) request.log.debug(line, 'request')
    else request.log.info(line, 'request')
    done()
  })
}

export function traceRequests(app: FastifyInstance, traces: Pick<Traces, 'onResponse'>): void {
  app.addHook('onResponse', (request, reply, done) => {
    traces.onResponse(request, reply)
    done()
  })
}

export const websocketOptions = (hub: Hub, closeWithinMs: number): WebsocketPluginOptions => ({
  options: {
    maxPayload: SOCKET_MESSAGE_BYTES_MAX,
    perMessageDeflate: false,
    handleProtocols: chooseProtocol,
  },
  errorHandler: (error, socket, request) => endFailed(socket, error, request.log),
  /** The listener closes right after this; the sockets get a moment to complete the closing handshake. */
  preClose(done) {
    hub.closeAll()
    const { clients } = this.websocketServer
    for (const socket of clients) if (socket.readyState === socket.OPEN) socket.close(STOPPING.code, STOPPING.reason)
    setTimeout(() => clients.forEach((socket) => socket.terminate()), closeWithinMs).unref()
    done()
  },
})
