// What the ledger keeps of a pool job: all that it takes to do it again. `job` is the client's payload as JSON text: it is
// handed to the worker as it came.
import type { Job } from '../../../core/ledger/job.ts'
import { isObject } from '../../../core/is-object.ts'
import type { Requirements, Specs } from './requirements.ts'

/** Done by one worker: a client's plain job, a replica, a canary. */
export const POOL_KIND = 'pool'
/** Done by its replicas: a client's replicated job. */
export const QUORUM_KIND = 'pool_quorum'

export interface PoolPayload {
  job: string
  lane_id: number
  region: string | null
  specs: Specs | null
  replicas: number
  quorum: number
  callback_url: string | null
  requires_hash: boolean
  timeout_seconds: number
  /** Of a replica: the job that it is one of. */
  quorum_id?: string
  canary_id?: number
}

export const requirementsOf = ({ region, specs }: PoolPayload): Requirements => ({ region, specs })

/** Null: not submitted through this door, but by somebody who may submit any job. */
export function payloadOf({ payload }: Pick<Job, 'payload'>): PoolPayload | null {
  if (!isObject(payload)) return null
  const { job, lane_id: laneId, replicas, quorum, timeout_seconds: timeoutSec } = payload
  const { region, specs, callback_url: url, quorum_id: quorumId, canary_id: canaryId } = payload
  if (typeof job !== 'string' || typeof laneId !== 'number' || typeof timeoutSec !== 'number') return null
  if (typeof replicas !== 'number' || typeof quorum !== 'number') return null
  return {
    job,
    lane_id: laneId,
    region: typeof region === 'string' ? region : null,
    specs: isObject(specs) ? specs : null,
    replicas,
    quorum,
    callback_url: typeof url === 'string' ? url : null,
    requires_hash: payload['requires_hash'] === true,
    timeout_seconds: timeoutSec,
    ...(typeof quorumId === 'string' ? { quorum_id: quorumId } : {}),
    ...(typeof canaryId === 'number' ? { canary_id: canaryId } : {}),
  }
}
