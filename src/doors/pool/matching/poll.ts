// POST /jobs/poll: the assignment that the worker holds, or a new one.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { StopSignal } from '../../../core/concurrency/stop-signal.ts'
import { refusals } from '../../../core/http/errors/detail.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { preferredWaitMs, waitSignal } from '../../../core/http/request/prefer.ts'
import { refused, type Refused } from '../../../core/values/outcome.ts'
import type { CanaryStock } from '../canaries/canary-stock.ts'
import { poolError } from '../errors.ts'
import type { PoolMetrics } from '../metrics.ts'
import { documented, Id, JsonObject, RawJson, sendJson } from '../wire.ts'
import type { Presence } from '../workers/presence.ts'
import type { Assignment, Assignments } from './assignments.ts'
import type { TaskMatcher } from './matchmaker.ts'

// The worker's state may change while its poll is being answered; more often than this it does not.
const POLL_TRIES = 5

export interface PollRequest {
  workerId: number
  ownerId: number
  waitMs: number
  signal: StopSignal
}

export type PollAnswer = { ok: true; assignment: Assignment } | Refused<'worker_not_found' | 'no_assignment'>
export type Poll = (request: PollRequest) => Promise<PollAnswer>

export interface PollDeps {
  canaries: CanaryStock
  presence: Presence
  assignments: Assignments
  matchmaker: TaskMatcher
  metrics: PoolMetrics
}

export function openPoll({ canaries, presence, assignments, matchmaker, metrics }: PollDeps): Poll {
  return async ({ workerId, ownerId, waitMs, signal }) => {
    await canaries.ready()
    for (let tries = 0; tries < POLL_TRIES; tries += 1) {
      const worker = await presence.touchForPoll(workerId, ownerId)
      if (worker === null) return refused('worker_not_found')
      if (worker.held !== null) {
        const same = await assignments.again(worker, worker.held)
        if (same !== null) {
          metrics.polls.inc({ result: 'same' })
          return { ok: true, assignment: same }
        }
        await assignments.forget(worker, worker.held)
      }
      const outcome = await matchmaker.wait(worker, { timeoutMs: waitMs, signal })
      if (outcome === 'again') continue
      metrics.polls.inc({ result: outcome === 'nothing' ? 'nothing' : 'new' })
      return outcome === 'nothing' ? refused('no_assignment') : { ok: true, assignment: outcome }
    }
    return refused('no_assignment')
  }
}

const AssignmentReply = Type.Object({
  assignment_id: Type.Integer(),
  job: JsonObject,
  nonce: Type.String(),
  cost_hint_tokens: Type.Integer(),
  lease_expires_at: Type.String(),
})

export const pollRoute =
  (poll: Poll): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      ...documented,
      summary: 'The assignment that a worker holds, or a new one. `Prefer: wait=N` (at most 50) waits for it.',
      body: Type.Object({ worker_id: Id }),
      response: { 200: AssignmentReply, ...refusals(401, 403, 404, 422) },
    }
    app.post('/jobs/poll', { config: { quiet: true }, schema }, async (request, reply) => {
      const waitMs = preferredWaitMs(request)
      if (waitMs > 0) reply.header('preference-applied', `wait=${waitMs / 1000}`)
      const { accountId: ownerId } = accountOf(request)
      const signal = waitSignal(request, reply)
      const answer = await poll({ workerId: request.body.worker_id, ownerId, waitMs, signal })
      if (!answer.ok) throw poolError(answer.code)
      const { assignmentId, job, nonce, costHint, leaseUntil } = answer.assignment
      return sendJson(reply, {
        assignment_id: assignmentId,
        job: new RawJson(job),
        nonce,
        cost_hint_tokens: costHint,
        lease_expires_at: leaseUntil,
      })
    })
  }
