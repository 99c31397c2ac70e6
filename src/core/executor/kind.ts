import type { Logger } from 'pino'
import type { Effect } from '../ledger/effects.ts'
import type { Acquired, Job } from '../ledger/job.ts'
import type { JobContext } from './job-context.ts'
import type { ReleaseOld } from '../ledger/prune.ts'

/** A kind of job: who does it, and what must happen once when it ends. A door declares its kinds. */
export interface Kind {
  name: string
  /** Runs the job in a working process. Absent: the work is done elsewhere (a remote worker, a person, two players). */
  run?: (job: Acquired, context: RunContext) => Promise<Done | WaitsForJob>
  /** Before the first job, in a process that works. If it throws, the kind is left to other processes, and the log says why. */
  prepare?: () => Promise<void>
  /** Concurrent jobs per process. Default: WORK_CONCURRENCY. */
  slots?: number
  /** Committed with the death of a job, whatever caused it. */
  effectsOfDeath?: (job: Pick<Job, 'jobId' | 'kind' | 'payload' | 'accountId'>, reason: string) => readonly Effect[]
  /** After this process has recorded the end of a job: its result, or null if it died. For counters. */
  onRecorded?: (result: unknown) => void
  /**
   * In the transaction that deletes old done jobs: which of them may go. Deletes the door's own rows of those. Absent: all of them, and
   * the door has no rows that need the job.
   */
  releaseOld?: ReleaseOld
  /**
   * In a transaction that locks old done jobs: deletes what the door stores of their results, and answers with the jobs whose own result
   * goes, too. Absent: results stay as long as their jobs, because the door reads them.
   */
  forgetResults?: ReleaseOld
  /** Why this dead job cannot be replayed, in a sentence; null: it can. */
  refusesReplay?: (old: Pick<Job, 'payload'>) => string | null
  /** For people who look at these jobs: what the door knows of each. Those of which it knows nothing are left out. */
  contextOf?: (jobs: readonly WatchedJob[]) => Promise<ReadonlyMap<string, Partial<JobContext>>>
  /** Committed with the new job of a replay: the door's own row for it. */
  effectsOfReplay?: (old: Job, newJobId: string) => readonly Effect[]
}

export type WatchedJob = Pick<Job, 'jobId' | 'kind' | 'state' | 'payload'>

export interface RunContext {
  /** Aborts when the lease is lost, the job is cancelled or the process gives up draining: stop, the result is void. */
  signal: AbortSignal
  log: Logger
}

export interface Done {
  result: unknown
  effects?: readonly Effect[]
}

/**
 * The work needs another job to end first, which may take a person's time. The job is released: it holds no slot and no lease,
 * survives a restart, and the attempt does not count. `run` is called again when that job has ended, and after `lookAgainMs`
 * at the latest, in case no process notices the end.
 */
export interface WaitsForJob {
  waitsFor: string
  lookAgainMs: number
  /** Committed with the release. */
  effects?: readonly Effect[]
}

/** Thrown by `run`: the message is shown to people. Any other error is retried too, under a plain message. */
export class JobFailed extends Error {
  override name = 'JobFailed'
  /** No further attempt will help. */
  readonly final: boolean

  constructor(message: string, options: { final?: boolean } = {}) {
    super(message)
    this.final = options.final ?? false
  }
}
