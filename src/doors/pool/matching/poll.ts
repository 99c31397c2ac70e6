// POST /jobs/poll: what a worker holds, or something new for it.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { preferredWaitMs, waitSignal } from '../../../core/http/request/prefer.ts'
import type { Coordinator } from '../pool.ts'
import { problem } from '../errors.ts'
import { Raw, sendJson } from '../raw.ts'
import { Id, JsonObject } from '../schemas.ts'

const Assigned = Type.Object({
  assignment_id: Type.Integer(),
  job: JsonObject,
  nonce: Type.String(),
  cost_hint_tokens: Type.Integer(),
  lease_expires_at: Type.String(),
})

export const pollRoute =
  (coordinator: Coordinator): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/jobs/poll',
      {
        config: { quiet: true },
        schema: {
          tags: ['pool'],
          summary: 'What a worker holds, or something new for it. `Prefer: wait=N` (at most 50) waits for it.',
          security: SECURED,
          body: Type.Object({ worker_id: Id }),
          response: { 200: Assigned, ...refusals(401, 403, 404, 422) },
        },
      },
      async (request, reply) => {
        const waitMs = preferredWaitMs(request)
        if (waitMs > 0) reply.header('preference-applied', `wait=${waitMs / 1000}`)
        const { accountId: ownerId } = accountOf(request)
        const signal = waitSignal(request, reply)
        const answer = await coordinator.poll({ workerId: request.body.worker_id, ownerId, waitMs, signal })
        if (!answer.ok) throw problem(answer.code)
        const { assignmentId, job, nonce, costHint, leaseUntil } = answer.assignment
        return sendJson(reply, {
          assignment_id: assignmentId,
          job: new Raw(job),
          nonce,
          cost_hint_tokens: costHint,
          lease_expires_at: leaseUntil,
        })
      },
    )
  }
