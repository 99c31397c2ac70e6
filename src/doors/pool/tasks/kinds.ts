// The two kinds of pool jobs: what commits with the death of a job, and with its replay.
import type { Database } from '../../../core/db/database.ts'
import type { Kind } from '../../../core/executor/kind.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import type { Job } from '../../../core/ledger/job.ts'
import { ATTEMPTS_EXHAUSTED } from '../../../core/upkeep.ts'
import { callbackBody, type Callbacks } from '../clients/callbacks.ts'
import { addQuorum, endQuorum, touchQuorum } from '../quorum/quorum-rows.ts'
import { clientPayloadOf, isCanary, POOL_KIND, QUORUM_KIND, replicaPayloadOf, type ClientPayload } from './payload.ts'
import { quorumContexts, taskContexts } from './context.ts'
import { forgetOutputs, releaseQuorums, releaseTasks } from './retention.ts'
import { ensureClass } from './requirement-classes.ts'
import { addTask, removeTask, type ClassRef, type NewPoolTask } from './task-rows.ts'

export const TIMED_OUT = 'timed out'
export const CANCELLED = 'cancelled by the client'

/** The status that a client sees of a dead job. */
export function statusOfDeath(reason: string | null): 'timed_out' | 'failed' | 'cancelled' {
  if (reason === TIMED_OUT) return 'timed_out'
  return reason === ATTEMPTS_EXHAUSTED ? 'failed' : 'cancelled'
}

type DyingJob = Pick<Job, 'jobId' | 'payload' | 'accountId'>

export interface PoolKindDeps {
  database: Pick<Database, 'query'>
  callbacks: Callbacks
  extraReplicas: number
}

export function poolKinds({ database, callbacks, extraReplicas }: PoolKindDeps): Kind[] {
  const callback = ({ jobId, accountId }: DyingJob, payload: ClientPayload | null, reason: string): Effect[] => {
    if (payload === null || payload.callback_url === null || accountId === null) return []
    const nothing = { output: null, outputHash: null, artifactUri: null, metrics: null, finishedAt: null }
    const body = callbackBody(jobId, { status: statusOfDeath(reason), errorMessage: reason, ...nothing })
    return [callbacks.queue({ jobId, clientId: accountId, url: payload.callback_url, body })]
  }
  return [
    {
      name: POOL_KIND,
      releaseOld: releaseTasks,
      forgetResults: forgetOutputs,
      contextOf: taskContexts(database),
      effectsOfDeath(job, reason) {
        const replica = replicaPayloadOf(job)
        if (replica !== null) return [removeTask(job.jobId), touchQuorum(replica.quorum_id)]
        return [removeTask(job.jobId), ...callback(job, clientPayloadOf(job), reason)]
      },
      refusesReplay(old) {
        const replica = replicaPayloadOf(old)
        if (replica !== null)
          return `A replica is replaced by its quorum: replay the replicated job ${replica.quorum_id} instead`
        if (isCanary(old)) return 'A canary cannot be replayed: the next one is made when it is due'
        return clientPayloadOf(old) === null ? 'The job was not submitted through the pool' : null
      },
      effectsOfReplay(old, jobId) {
        const payload = clientPayloadOf(old)
        if (payload === null) return []
        const { key, effect } = ensureClass(old.accountId, payload)
        return [effect, addTask(taskOf(jobId, old.priority, payload, { classKey: key }))]
      },
    },
    {
      name: QUORUM_KIND,
      releaseOld: releaseQuorums,
      contextOf: quorumContexts(database),
      effectsOfDeath: (job, reason) => [endQuorum(job.jobId, null), ...callback(job, clientPayloadOf(job), reason)],
      effectsOfReplay(old, jobId) {
        const payload = clientPayloadOf(old)
        if (payload === null) return []
        const { key, effect } = ensureClass(old.accountId, payload)
        return [effect, addQuorum(jobId, payload, { classKey: key }, { issued: 0, extraReplicas })]
      },
    },
  ]
}

/** The task of a plain job. */
export const taskOf = (jobId: string, priority: number, payload: ClientPayload, ref: ClassRef): NewPoolTask => ({
  jobId,
  priority,
  callbackUrl: payload.callback_url,
  requiresHash: payload.requires_hash,
  timeoutSec: payload.timeout_seconds,
  retries: payload.max_attempts - 1,
  payloadBytes: Buffer.byteLength(payload.job),
  ...ref,
})
