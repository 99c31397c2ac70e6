import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import websocket from '@fastify/websocket'
import fastify from 'fastify'
import { WebSocket } from 'ws'
import { addressOf } from '../../../src/core/http/server.ts'
import { forgetRequests } from '../../../src/core/http/sockets/forget-request.ts'
import { until } from '../../support/until.ts'

test('an open WebSocket keeps neither its request nor the response, and a failure still ends it', async (t) => {
  const app = fastify()
  await app.register(websocket)
  forgetRequests(app)
  const kept: WeakRef<object>[] = []
  app.get(
    '/ws',
    { websocket: true },
    (_socket, request) => void kept.push(new WeakRef(request), new WeakRef(request.raw)),
  )
  app.addHook('preHandler', (_request, reply, done) => {
    kept.push(new WeakRef(reply), new WeakRef(reply.raw))
    done()
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.after(() => app.close())
  const client = new WebSocket(addressOf(app).replace('http', 'ws') + '/ws')
  await once(client, 'open')

  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')

  await until('the request is collected', () => {
    collect()
    return kept.every((ref) => ref.deref() === undefined)
  })
  assert.equal(kept.length, 4)
  const [socket] = app.websocketServer.clients
  socket?.emit('error', new Error('broken'))
  await once(client, 'close')
})
