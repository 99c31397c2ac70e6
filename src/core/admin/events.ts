// /admin/events: a WebSocket that follows any channel of events, optionally from an id on.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { follow } from '../http/sockets/follow.ts'
import { refusals } from '../http/errors/detail.ts'
import { SECURED, UPGRADED } from '../http/routes/docs.ts'
import { requireSocket } from '../http/auth/socket-auth.ts'
import type { AdminDeps } from './admin-routes.ts'

const Query = Type.Object({
  channel: Type.String({ minLength: 1, maxLength: 200 }),
  since: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
})

export const eventRoutes =
  ({ identity, events }: AdminDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const onRequest = requireSocket(identity, 'ADMIN')
    const schema = {
      tags: ['admin'],
      summary: 'WebSocket: the events of a channel as they happen, and those since an id.',
      security: SECURED,
      querystring: Query,
      response: { ...UPGRADED, ...refusals(401, 403, 422, 426, 429) },
    }
    app.get('/admin/events', { websocket: true, onRequest, schema }, async (socket, request) => {
      const { channel, since } = request.query
      await follow(app.hub.attach(socket), { events, channel, since })
    })
  }
