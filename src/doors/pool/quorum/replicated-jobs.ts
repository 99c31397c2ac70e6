// What replicas and the settling read of a replicated job. It never changes, so the last ones are kept: by the process that took
// the job, from its submit on.
import type { Job } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { clientPayloadOf, type ClientPayload } from '../tasks/payload.ts'

const KEPT_CHARS_MAX = 8_000_000
const ENTRY_CHARS = 1000 // beside the payload

export interface ReplicatedJob extends Pick<Job, 'jobId' | 'priority' | 'accountId' | 'traceId'> {
  payload: ClientPayload
}

export interface ReplicatedJobs {
  /** Null: no such job, or not one that was submitted through this door. */
  get(quorumId: string): Promise<ReplicatedJob | null>
  /** With its submit. One that is then refused is never asked for. */
  keep(job: ReplicatedJob): void
}

export function openReplicatedJobs({ ledger }: { ledger: Pick<Ledger, 'get'> }): ReplicatedJobs {
  const kept = new Map<string, ReplicatedJob>()
  let chars = 0
  const keep = (job: ReplicatedJob) => {
    if (kept.has(job.jobId)) return
    kept.set(job.jobId, job)
    chars += charsOf(job)
    for (const [oldestId, oldest] of kept) {
      if (chars <= KEPT_CHARS_MAX) break
      kept.delete(oldestId)
      chars -= charsOf(oldest)
    }
  }
  return {
    keep,
    async get(quorumId) {
      const known = kept.get(quorumId)
      if (known !== undefined) return known
      const job = await ledger.get(quorumId)
      const payload = job === null ? null : clientPayloadOf(job)
      if (job === null || payload === null) return null
      const { jobId, priority, accountId, traceId } = job
      const read = { jobId, priority, accountId, traceId, payload }
      keep(read)
      return read
    },
  }
}

const charsOf = ({ payload }: ReplicatedJob): number => ENTRY_CHARS + payload.job.length
