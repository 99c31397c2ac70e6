// What a worker's runtime does, but for handing in: it polls, and it sends heartbeats.
import { refused, type Refused } from '../../../core/outcome.ts'
import type { Assignment, Assignments } from './assignments.ts'
import type { CanaryStock } from '../canaries/canary-stock.ts'
import type { Matchmaker } from './matchmaker.ts'
import type { PoolMetrics } from '../metrics.ts'
import type { Presence } from '../workers/presence.ts'

// What was known of a worker may change while it is being served; not this often.
const POLL_TRIES = 5

export interface PollRequest {
  workerId: number
  ownerId: number
  waitMs: number
  signal: AbortSignal
}

export type PollAnswer = { ok: true; assignment: Assignment } | Refused<'worker_not_found' | 'no_assignment'>

export interface Beat {
  ok: true
  seenAt: string
  /** Assignments that the worker need not finish: they are no longer its own. */
  cancelled: number[]
}

export type Poll = (request: PollRequest) => Promise<PollAnswer>
export type Heartbeat = (workerId: number, ownerId: number) => Promise<Beat | Refused<'worker_not_found'>>

export interface RuntimeDeps {
  canaries: CanaryStock
  presence: Presence
  assignments: Assignments
  matchmaker: Matchmaker
  metrics: PoolMetrics
}

/** What the worker holds, if it still does; otherwise something new. */
export function openPoll({ canaries, presence, assignments, matchmaker, metrics }: RuntimeDeps): Poll {
  return async ({ workerId, ownerId, waitMs, signal }) => {
    await canaries.ready()
    for (let tries = 0; tries < POLL_TRIES; tries += 1) {
      const worker = await presence.touch(workerId, ownerId)
      if (worker === null) return refused('worker_not_found')
      if (worker.given !== null) {
        const same = await assignments.again(worker, worker.given)
        if (same !== null) {
          metrics.polls.inc({ result: 'same' })
          return { ok: true, assignment: same }
        }
        await assignments.forget(worker, worker.given)
      }
      const waited = await matchmaker.wait(worker, { timeoutMs: waitMs, signal })
      if (waited === 'again') continue
      metrics.polls.inc({ result: waited === 'nothing' ? 'nothing' : 'new' })
      return waited === 'nothing' ? refused('no_assignment') : { ok: true, assignment: waited }
    }
    return refused('no_assignment')
  }
}

export function openHeartbeat({ presence, assignments }: Pick<RuntimeDeps, 'presence' | 'assignments'>): Heartbeat {
  return async (workerId, ownerId) => {
    const worker = await presence.touch(workerId, ownerId)
    if (worker === null) return refused('worker_not_found')
    const { given, seenAt } = worker
    const isKept = given === null || (!given.isOverdue && (await assignments.keep(worker, given)).ok)
    return { ok: true, seenAt, cancelled: isKept || given === null ? [] : [given.assignmentId] }
  }
}
