// Requests that a client sends on one connection without waiting for answers (pipelining). One read of a socket can contain
// two thousand of them, and Node starts them all before it looks at another socket. Since HTTP/1.1 answers in order, they are
// handled one after the other, each in a later turn of the event loop: a connection gets one request per turn, like any other.
// An answer that the client does not read holds back the next one, so that a slow reader costs the memory of one answer.
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyServerFactory } from 'fastify'

/** A client that has more requests waiting on one connection is cut. */
export const PIPELINED_MAX = 100

type Waiting = [request: IncomingMessage, response: ServerResponse][]

function handleInTurn(handle: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, Waiting>()

  const start = (request: IncomingMessage, response: ServerResponse, waiting: Waiting): void => {
    const { socket } = request
    response.once('close', () => {
      if (waiting.length === 0) lines.delete(socket)
      else setImmediate(startNext, socket, waiting)
    })
    handle(request, response)
  }
  const startNext = (socket: Socket, waiting: Waiting): void => {
    const next = waiting.shift()
    if (next !== undefined && !socket.destroyed) start(...next, waiting)
  }

  return (request, response) => {
    const waiting = lines.get(request.socket)
    if (waiting === undefined) {
      const none: Waiting = []
      lines.set(request.socket, none)
      start(request, response, none)
    } else if (waiting.length < PIPELINED_MAX) {
      waiting.push([request, response])
    } else {
      request.socket.destroy()
    }
  }
}

export interface ConnectionLimits {
  headerBytesMax: number
  headersTimeoutMs: number
  requestTimeoutMs: number
  checkTimeoutsMs: number
  requestsMax: number
  idleMs: number
}

/** Fastify applies no limit of its own to a server that it did not create. */
export const serverWithin =
  (limits: ConnectionLimits): FastifyServerFactory<Server> =>
  (handle, { keepAliveTimeout }) => {
    const options = {
      maxHeaderSize: limits.headerBytesMax,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: limits.checkTimeoutsMs,
      ...(typeof keepAliveTimeout === 'number' ? { keepAliveTimeout } : {}),
    }
    const server = createServer(options, handleInTurn(handle))
    server.maxRequestsPerSocket = limits.requestsMax
    server.setTimeout(limits.idleMs)
    return server
  }
