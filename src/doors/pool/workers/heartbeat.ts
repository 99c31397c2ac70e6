// POST /workers/heartbeat: a worker is alive, and keeps what it holds.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import type { Coordinator } from '../pool.ts'
import { problem } from '../errors.ts'
import { Id } from '../schemas.ts'

const Beat = Type.Object({
  worker_id: Type.Integer(),
  last_seen_at: Type.String(),
  cancelled: Type.Optional(
    Type.Array(Type.Integer(), { description: 'Assignments that are no longer this worker’s: stop working on them.' }),
  ),
})

export const heartbeatRoute =
  (coordinator: Coordinator): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/workers/heartbeat',
      {
        config: { quiet: true },
        schema: {
          tags: ['pool'],
          summary: 'A worker is alive, and keeps what it holds.',
          security: SECURED,
          body: Type.Object({ worker_id: Id }),
          response: { 200: Beat, ...refusals(401, 403, 404, 422) },
        },
      },
      async (request) => {
        const { worker_id: workerId } = request.body
        const beat = await coordinator.heartbeat(workerId, accountOf(request).accountId)
        if (!beat.ok) throw problem(beat.code)
        const { seenAt, cancelled } = beat
        return { worker_id: workerId, last_seen_at: seenAt, ...(cancelled.length === 0 ? {} : { cancelled }) }
      },
    )
  }
