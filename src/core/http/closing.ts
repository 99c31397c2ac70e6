// How a server stops in bounded time. Closing it waits for all of its connections, and Node does not look at their time-outs any
// more then: a client that is connected and says nothing would keep it for ever.
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** Stops listening and answers what is in flight. After `ms` every connection is cut, WebSockets as well. */
export type CloseWithin = (ms: number) => Promise<void>

/** To be called before it listens. */
export function openClosing(app: FastifyInstance): CloseWithin {
  const connections = new Set<Socket>()
  let isOver = false
  app.server.on('connection', (socket: Socket) => {
    if (isOver) return socket.destroy()
    connections.add(socket)
    return socket.once('close', () => connections.delete(socket))
  })
  return async (ms) => {
    const timer = setTimeout(() => {
      isOver = true
      for (const socket of connections) socket.destroy()
    }, ms)
    await app.close().finally(() => clearTimeout(timer))
  }
}
