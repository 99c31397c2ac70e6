// The payloads in Redis: a copy of each task for workers outside, which read it by the entry's payload_ref. Executors here get
// the payload from the ledger; if the copy is missing or not readable, it is written again (docs/judge.md, C2).
import type { Redis } from 'ioredis'
import type { JobBrief } from '../../../ledger/read.ts'
import type { SampledLog } from '../../../log/sampled-log.ts'
import type { RedisFeedOptions } from '../options.ts'
import { CHECK_PAYLOADS, evaluate, listFrom } from '../scripts/script.ts'

/** As announce.lua writes it. */
export const payloadKey = (jobId: string): string => `task:payload:${jobId}`

const REASON = 'payload_missing_or_invalid'

export interface AcquiredEntry {
  job: Omit<JobBrief, 'state'> & { attemptId: number }
  entryId: string
  payloadRef: string
}

/** The task as a worker outside reads it. */
export function taskData({ jobId, kind, payload, priority, accountId, traceId }: Omit<JobBrief, 'state'>): string {
  const task = { job_id: jobId, kind, payload, priority, account_id: accountId, trace_id: traceId }
  return Buffer.from(JSON.stringify(task)).toString('base64')
}

const envelopeOf = (job: Omit<JobBrief, 'state'>): string =>
  JSON.stringify({
    schema_version: 1,
    task_data_b64: taskData(job),
    encoding: 'base64',
    content_type: 'application/json',
  })

/** Never rejects: nobody here needs the copy. */
export async function restorePayloads(
  redis: Redis,
  acquired: readonly AcquiredEntry[],
  { payloadTtlSec, metrics }: RedisFeedOptions,
  log: SampledLog,
): Promise<void> {
  if (acquired.length === 0) return
  try {
    const refs = acquired.map(({ payloadRef }) => payloadRef)
    const invalid = listFrom(await evaluate(redis, CHECK_PAYLOADS, refs, []))
    const broken = acquired.filter((_, index) => invalid[index] === 1)
    for (const { job, entryId, payloadRef } of broken) {
      await redis.set(payloadRef, envelopeOf(job), 'EX', payloadTtlSec)
      metrics.claims.inc({ status: 'repaired', reason: REASON })
      const { jobId, attemptId, traceId } = job
      const about = { job_id: jobId, attempt_id: attemptId, trace_id: traceId, entry_id: entryId, reason: REASON }
      log.warn(about, 'payload in Redis written again')
    }
  } catch (error) {
    log.warn({ err: error, entries: acquired.length }, 'payloads in Redis could not be checked')
  }
}
