// A client's job enters the ledger: by itself, or, if several workers are to do it, as a job that its replicas decide.
import type { Idempotency } from '../../../core/ledger/submit/submit.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { newJobId } from '../../../core/random.ts'
import { refused, type Refused } from '../../../core/outcome.ts'
import { taskOf } from '../tasks/kinds.ts'
import type { Lanes } from '../tasks/requirement-classes.ts'
import { POOL_KIND, QUORUM_KIND, type PoolPayload } from '../tasks/payload.ts'
import { addQuorum } from '../quorum/quorum-store.ts'
import type { Quorums } from '../quorum/settle.ts'
import type { Requirements } from '../tasks/requirements.ts'
import type { PoolSettings } from '../settings.ts'
import { addTask } from '../tasks/task-rows.ts'

export interface NewPoolJob {
  clientId: number
  /** The payload, as JSON text. */
  job: string
  priority: number
  requirements: Requirements
  replicas: number
  quorum: number
  callbackUrl: string | null
  requiresHash: boolean
  /** Null: POOL_TIMEOUT_SECONDS. */
  timeoutSec: number | null
  idempotency: Idempotency | null
  traceId: string | null
}

export type SubmitJobAnswer = { ok: true; jobId: string } | Refused<'idempotency_conflict' | 'too_many_requirements'>

export type SubmitJob = (job: NewPoolJob) => Promise<SubmitJobAnswer>

export interface SubmitJobDeps {
  ledger: Ledger
  lanes: Lanes
  settings: PoolSettings
  quorums: Quorums
  onReady(): void
}

export const openSubmitJob =
  ({ ledger, lanes, settings, quorums, onReady }: SubmitJobDeps): SubmitJob =>
  async (asked) => {
    const { clientId, requirements, priority, idempotency, traceId } = asked
    const laneId = await lanes.laneFor(clientId, requirements)
    if (laneId === null) return refused('too_many_requirements')
    const jobId = newJobId()
    const payload = payloadFor(asked, laneId, settings.POOL_TIMEOUT_SECONDS)
    const isPlain = asked.replicas === 1
    const effect = isPlain
      ? addTask(taskOf(jobId, priority, payload))
      : addQuorum(jobId, payload, settings.POOL_EXTRA_REPLICAS)
    const kind = isPlain ? POOL_KIND : QUORUM_KIND
    const common = { jobId, kind, payload, priority, accountId: clientId, traceId, idempotency, effects: [effect] }
    // A replicated job is settled, not tried: its replicas have attempts.
    const answer = await ledger.submit(isPlain ? common : { ...common, maxAttempts: null })
    if (!answer.ok) return answer
    if (!answer.duplicate && isPlain) onReady()
    if (!answer.duplicate && !isPlain) await quorums.settle(jobId)
    return { ok: true, jobId: answer.jobId }
  }

const payloadFor = (asked: NewPoolJob, laneId: number, timeoutSec: number): PoolPayload => ({
  job: asked.job,
  lane_id: laneId,
  region: asked.requirements.region,
  specs: asked.requirements.specs,
  replicas: asked.replicas,
  quorum: asked.quorum,
  callback_url: asked.callbackUrl,
  requires_hash: asked.requiresHash,
  timeout_seconds: asked.timeoutSec ?? timeoutSec,
})
