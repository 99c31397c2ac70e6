// A WebSocket ends when the credential that opened it ends: a logout, an expired token, a revoked key, a lost role or a closed
// account. Every process checks its own sockets; the checks of one pass share a query.
import { Counter } from 'prom-client'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import type { Identity } from '../../identity/identity.ts'
import type { Loop } from '../../loop.ts'
import type { Metrics } from '../../metrics.ts'

const EVERY_MS = 2000 // sockets end within 5 s

export const UNAUTHORIZED = { code: 1008, reason: 'unauthorized' } as const
export const FORBIDDEN = { code: 1008, reason: 'forbidden' } as const

export interface RevalidateDeps {
  app: FastifyInstance
  identity: Pick<Identity, 'authenticate'>
  metrics: Metrics
}

/** To be called after the WebSocket plugin and before the routes are registered. */
export function openRevalidation({ app, identity, metrics }: RevalidateDeps): Loop {
  const requests = new WeakMap<object, FastifyRequest>()
  const open = new Map<WebSocket, FastifyRequest>()
  const ended = new Counter({
    name: 'websocket_ended_total',
    help: 'WebSockets closed because their credential, role or account ended.',
    labelNames: ['reason'],
    registers: [metrics],
  })

  app.addHook('preHandler', async (request) => {
    if (request.ws && request.credential !== null) requests.set(request.raw, request)
  })
  app.websocketServer.on('connection', (socket: WebSocket, raw: object) => {
    const request = requests.get(raw)
    if (request === undefined) return
    open.set(socket, request)
    socket.once('close', () => open.delete(socket))
  })

  const check = async (socket: WebSocket, { credential, socketRoles }: FastifyRequest): Promise<void> => {
    if (credential === null) return
    const account = await identity.authenticate(credential)
    const needed = socketRoles ?? []
    const hasRole = needed.length === 0 || needed.some((role) => account?.roles.includes(role))
    if (account !== null && hasRole) return
    const { code, reason } = account === null ? UNAUTHORIZED : FORBIDDEN
    ended.inc({ reason })
    open.delete(socket)
    socket.close(code, reason)
  }

  return {
    name: 'revalidate-websockets',
    everyMs: EVERY_MS,
    async runOnce() {
      await Promise.all([...open].map(([socket, request]) => check(socket, request)))
      return false
    },
  }
}
