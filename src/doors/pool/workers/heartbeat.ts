// POST /workers/heartbeat: the worker is online, and the lease of its assignment is renewed.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { refused, type Refused } from '../../../core/values/outcome.ts'
import { poolError } from '../errors.ts'
import type { Assignments } from '../matching/assignments.ts'
import { documented, Id } from '../wire.ts'
import type { Presence } from './presence.ts'

export interface HeartbeatAnswer {
  ok: true
  seenAt: string
  /** Assignments that the worker no longer holds. */
  cancelled: number[]
}

export type Heartbeat = (workerId: number, ownerId: number) => Promise<HeartbeatAnswer | Refused<'worker_not_found'>>

export function openHeartbeat({ presence, assignments }: { presence: Presence; assignments: Assignments }): Heartbeat {
  return async (workerId, ownerId) => {
    const worker = await presence.touch(workerId, ownerId)
    if (worker === null) return refused('worker_not_found')
    const { held, seenAt } = worker
    const isKept = held === null || (!held.isOverdue && (await assignments.keep(worker, held)).ok)
    if (isKept) return { ok: true, seenAt, cancelled: [] }
    // A result that was recorded meanwhile cleared the worker's row in its transaction. It is no cancellation.
    const isLost = await presence.names(workerId, held.assignmentId)
    return { ok: true, seenAt, cancelled: isLost ? [held.assignmentId] : [] }
  }
}

const HeartbeatReply = Type.Object({
  worker_id: Type.Integer(),
  last_seen_at: Type.String(),
  cancelled: Type.Optional(
    Type.Array(Type.Integer(), { description: 'Assignments that are no longer this worker’s: stop working on them.' }),
  ),
})

export const heartbeatRoute =
  (heartbeat: Heartbeat): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.post(
      '/workers/heartbeat',
      {
        config: { quiet: true },
        schema: {
          ...documented,
          summary: 'The worker is online and keeps its assignment.',
          body: Type.Object({ worker_id: Id }),
          response: { 200: HeartbeatReply, ...refusals(401, 403, 404, 422) },
        },
      },
      async (request) => {
        const { worker_id: workerId } = request.body
        const beat = await heartbeat(workerId, accountOf(request).accountId)
        if (!beat.ok) throw poolError(beat.code)
        const { seenAt, cancelled } = beat
        return { worker_id: workerId, last_seen_at: seenAt, ...(cancelled.length === 0 ? {} : { cancelled }) }
      },
    )
  }
