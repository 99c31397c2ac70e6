// An open WebSocket needs nothing of the request that opened it, which takes kilobytes with its response. Two things would
// keep them for as long as the socket is open: the connection, which knows the response that it would answer with, and the
// `error` listener of the WebSocket plugin. Both are replaced here.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { WebSocket } from 'ws'

/** To be called after the WebSocket plugin and before the routes are registered. */
export function forgetRequests(app: FastifyInstance): void {
  const responses = new WeakMap<IncomingMessage, ServerResponse>()

  app.addHook('preHandler', (request, reply, done) => {
    if (request.ws) responses.set(request.raw, reply.raw)
    done()
  })
  app.websocketServer.on('connection', (socket: WebSocket, raw: IncomingMessage) => {
    responses.get(raw)?.detachSocket(raw.socket)
    // The plugin adds its listener after this one has run.
    queueMicrotask(() => {
      socket.removeAllListeners('error')
      socket.on('error', (error) => endFailed(socket, error, app.log))
    })
  })
}

/** `ws` itself closes a client that breaks the protocol, with the proper code. */
export function endFailed(socket: WebSocket, error: Error, log: FastifyBaseLogger): void {
  if ('code' in error && String(error.code).startsWith('WS_ERR_')) return
  log.warn({ err: error }, 'websocket failed')
  socket.terminate()
}
