// What the ledger stores as the payload of a pool job: all that is needed to run it again. A client's payload is stored once,
// with the client's own job; a replica and a canary name the row that holds it.
import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Database } from '../../../core/db/database.ts'
import type { Job } from '../../../core/ledger/job.ts'
import { AgreeRule } from '../quorum/agreement.ts'
import type { ReplicatedJobs } from '../quorum/replicated-jobs.ts'
import { JsonObject, orNull } from '../wire.ts'

/** Run by one worker: a client's plain job, a replica, a canary. */
export const POOL_KIND = 'pool'
/** Decided by its replicas: a client's replicated job. */
export const QUORUM_KIND = 'pool_quorum'

const ClientPayload = Type.Object({
  /** The client's payload as JSON text: the worker receives it unchanged. */
  job: Type.String(),
  region: orNull(Type.String()),
  specs: orNull(JsonObject),
  replicas: Type.Integer(),
  quorum: Type.Integer(),
  callback_url: orNull(Type.String()),
  requires_hash: Type.Boolean(),
  timeout_seconds: Type.Integer(),
  max_attempts: Type.Integer(),
  agree: orNull(AgreeRule),
})
const ReplicaPayload = Type.Object({ quorum_id: Type.String() })
const CanaryPayload = Type.Object({ canary_id: Type.Integer() })

const CANARY_JOB = `select payload::text as job from pool_canaries where canary_id = $1`

export type ClientPayload = Static<typeof ClientPayload>
export type ReplicaPayload = Static<typeof ReplicaPayload>
export type CanaryPayload = Static<typeof CanaryPayload>

type Stored = Pick<Job, 'payload'>

const clientPayload = Compile(ClientPayload)
const replicaPayload = Compile(ReplicaPayload)
const canaryPayload = Compile(CanaryPayload)

/** Null: a replica, a canary, or a job that was not submitted through this door. */
export const clientPayloadOf = ({ payload }: Stored): ClientPayload | null =>
  clientPayload.Check(payload) ? payload : null

export const replicaPayloadOf = ({ payload }: Stored): ReplicaPayload | null =>
  replicaPayload.Check(payload) ? payload : null

export const isCanary = ({ payload }: Stored): boolean => canaryPayload.Check(payload)

export interface JobTexts {
  replicated: ReplicatedJobs
  database: Database
}

/** The text that the worker of a job receives. `null` (JSON): the job was not submitted through this door. */
export async function jobTextOf(from: JobTexts, stored: Stored): Promise<string> {
  const { payload } = stored
  if (replicaPayload.Check(payload)) return (await from.replicated.get(payload.quorum_id))?.payload.job ?? 'null'
  if (canaryPayload.Check(payload)) {
    const [row] = await from.database.hot.query<{ job: string }>(CANARY_JOB, [payload.canary_id])
    return row?.job ?? 'null'
  }
  return clientPayloadOf(stored)?.job ?? 'null'
}
