// What becomes of a pool job that ends without a result, and of one that is tried again.
import type { Effect } from '../../../core/ledger/effects.ts'
import type { Job } from '../../../core/ledger/job.ts'
import type { Kind } from '../../../core/executor/kind.ts'
import { ATTEMPTS_EXHAUSTED } from '../../../core/upkeep.ts'
import { callbackBody, type Callbacks } from '../clients/callbacks.ts'
import { payloadOf, POOL_KIND, QUORUM_KIND, type PoolPayload } from './payload.ts'
import { addQuorum } from '../quorum/quorum-store.ts'
import { addTask, removeTask, touchQuorum } from './task-rows.ts'

export const TIMED_OUT = 'timed out'
export const CANCELLED = 'cancelled by the client'

/** What a client is told of a job that died. */
export function statusOfDeath(reason: string | null): 'timed_out' | 'failed' | 'cancelled' {
  if (reason === TIMED_OUT) return 'timed_out'
  return reason === ATTEMPTS_EXHAUSTED ? 'failed' : 'cancelled'
}

type Dead = Pick<Job, 'jobId' | 'payload' | 'accountId'>

export function poolKinds({ callbacks, extraReplicas }: { callbacks: Callbacks; extraReplicas: number }): Kind[] {
  const callback = ({ jobId, accountId }: Dead, payload: PoolPayload, reason: string): Effect[] => {
    if (payload.callback_url === null || accountId === null) return []
    const nothing = { output: null, outputHash: null, artifactUri: null, metrics: null, finishedAt: null }
    const body = callbackBody(jobId, { ...nothing, status: statusOfDeath(reason), errorMessage: reason })
    return [callbacks.queue({ jobId, clientId: accountId, url: payload.callback_url, body })]
  }
  return [
    {
      name: POOL_KIND,
      effectsOfDeath(job, reason) {
        const payload = payloadOf(job)
        if (payload === null) return [removeTask(job.jobId)]
        if (payload.quorum_id !== undefined) return [removeTask(job.jobId), touchQuorum(payload.quorum_id)]
        return [removeTask(job.jobId), ...callback(job, payload, reason)]
      },
      effectsOfReplay(old, jobId) {
        const payload = payloadOf(old)
        return payload === null ? [] : [addTask(taskOf(jobId, old.priority, payload))]
      },
    },
    {
      name: QUORUM_KIND,
      effectsOfDeath(job, reason) {
        const payload = payloadOf(job)
        return payload === null ? [] : [touchQuorum(job.jobId), ...callback(job, payload, reason)]
      },
      effectsOfReplay(old, jobId) {
        const payload = payloadOf(old)
        return payload === null ? [] : [addQuorum(jobId, payload, extraReplicas)]
      },
    },
  ]
}

/** The task of a plain job. */
export const taskOf = (jobId: string, priority: number, payload: PoolPayload) => ({
  jobId,
  laneId: payload.lane_id,
  priority,
  callbackUrl: payload.callback_url,
  requiresHash: payload.requires_hash,
  timeoutSec: payload.timeout_seconds,
})
