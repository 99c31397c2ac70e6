// The replicas of a job, as new jobs of the ledger.
import type { NewJob } from '../../../core/ledger/submit/submit.ts'
import { newJobId } from '../../../core/random.ts'
import { traceOfJob } from '../../../core/traces/context.ts'
import { POOL_KIND, type ReplicaPayload } from '../tasks/payload.ts'
import { addTask, type NewPoolTask } from '../tasks/task-rows.ts'
import type { ReplicatedJob } from './replicated-jobs.ts'

interface ReplicaTimes {
  acceptedAt: string
  deadlineAt: string
}

/** Those that come later have the times of the job. The first are submitted with it. */
export function replicasOf(
  { jobId: quorumId, priority, traceId, payload }: ReplicatedJob,
  { count, classId, times }: { count: number; classId: number; times?: ReplicaTimes },
): NewJob[] {
  const stored: ReplicaPayload = { quorum_id: quorumId }
  const trace = traceOfJob({ jobId: quorumId, attemptId: 0, traceId })
  return Array.from({ length: count }, () => {
    const jobId = newJobId()
    const task: NewPoolTask = {
      jobId,
      classId,
      priority,
      requiresHash: payload.requires_hash,
      timeoutSec: payload.timeout_seconds,
      retries: payload.max_attempts - 1,
      replicaOf: { quorumId, quorum: payload.quorum, ...times },
    }
    return { jobId, kind: POOL_KIND, payload: stored, priority, trace, effects: [addTask(task)] }
  })
}
