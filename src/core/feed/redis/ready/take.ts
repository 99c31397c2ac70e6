// From job ids to jobs. The ledger decides who gets a job. If it refuses, the id is dropped, and nothing is lost by that:
//
//   already_finished, unknown_job  → nobody needs it any more
//   lease_still_valid              → somebody works on it; if its lease expires, repair announces it
//   not_due, exhausted             → the ledger announces the first when it is due, and buries the second
//   the database failed            → kept in this process, and tried again before anything else is read
import type { AcquireAnswer } from '../../../ledger/acquire.ts'
import type { Acquired } from '../../../ledger/job.ts'
import type { SampledLog } from '../../../log/sampled-log.ts'
import type { TakenJob } from '../../feed.ts'
import type { Announcer } from '../announcer.ts'
import type { RedisFeedOptions } from '../options.ts'
import type { Taker } from '../queue.ts'
import type { ReadyReader } from './read.ts'

interface ReadyTakerDeps {
  kind: string
  options: RedisFeedOptions
  announcer: Announcer
  log: SampledLog
}

const TAKEN = { status: 'ok', reason: '' }
const FAILED = { status: 'error', reason: 'db_error' }
const PRIORITY_ANY = 0 // the announcer reads it from the ledger

export function openReadyTaker(reader: ReadyReader, deps: ReadyTakerDeps): Taker {
  const { kind, options, announcer, log } = deps
  const { ledger, owner, leaseMs, metrics } = options
  let untried: string[] = []

  const acquire = async (jobIds: readonly string[]): Promise<AcquireAnswer[]> => {
    try {
      return await ledger().acquireMany(jobIds.map((jobId) => ({ jobId, owner, leaseMs })))
    } catch (error) {
      untried.push(...jobIds)
      metrics.claims.inc(FAILED, jobIds.length)
      throw error
    }
  }

  return {
    async take({ limit, signal }) {
      const jobIds = untried.length > 0 ? untried.splice(0, limit) : await reader.read(limit, signal)
      if (jobIds.length === 0) return []
      const taken: TakenJob[] = []
      for (const answer of await acquire(jobIds)) {
        if (!answer.ok) metrics.claims.inc({ status: 'rejected', reason: answer.code })
        else if (answer.job.kind === kind) taken.push({ job: answer.job, acknowledge: null })
        else await requeueToOwnKind(deps, answer.job)
      }
      countTaken(deps, taken)
      return taken
    },
    reclaimNext() {},
    async close() {
      reader.close()
      if (untried.length === 0) return
      try {
        await announcer.announce(untried.splice(0).map((jobId) => ({ jobId, kind, priority: PRIORITY_ANY })))
      } catch (error) {
        log.warn({ err: error, kind }, 'jobs that were read and not tried wait for repair')
      }
    },
  }
}

function countTaken({ options: { metrics } }: ReadyTakerDeps, taken: readonly TakenJob[]): void {
  const reclaimed = taken.filter(({ job }) => job.wasAbandoned).length
  if (taken.length > reclaimed) metrics.claims.inc(TAKEN, taken.length - reclaimed)
  if (reclaimed > 0) metrics.reclaims.inc(TAKEN, reclaimed)
}

/** A job of another kind, in this set by mistake: this executor cannot run it. Never rejects: repair does the rest. */
async function requeueToOwnKind({ options, announcer, log }: ReadyTakerDeps, job: Acquired): Promise<void> {
  const { jobId, attemptId, owner, kind, traceId } = job
  log.warn({ job_id: jobId, attempt_id: attemptId, trace_id: traceId, kind }, 'announced under another kind')
  try {
    await options.ledger().release({ jobId, attemptId, owner })
    await announcer.announce([job])
  } catch (error) {
    log.warn({ err: error, job_id: jobId, kind }, 'a job of another kind waits for repair')
  }
}
