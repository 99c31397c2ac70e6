// The feed tells executors that a job is ready. It may lose, repeat or reorder: only a job that an executor has acquired from
// the ledger is worked on.
import type { WithCommit } from '../events/bus.ts'
import type { Acquired } from '../ledger/job.ts'
import type { ReadyJob } from '../ledger/repair.ts'
import type { FreshJobs } from '../ledger/ledger.ts'
import type { Loop } from '../loop.ts'

export interface Feed {
  /** Called after a commit that made jobs of these kinds ready; `fresh` were submitted by it. Never waits, never throws. */
  hint(kinds: readonly string[], fresh?: FreshJobs): void
  /** The same hint, carried by the commit itself. Null: call `hint` after the commit. */
  hintWithin?(kinds: readonly string[]): WithCommit | null
  /** Announces again that these jobs are ready. */
  announce(jobs: readonly ReadyJob[]): Promise<void>
  /** Waits until at least one job was acquired or `signal` aborts; may give up earlier, with none. */
  take(request: TakeRequest): Promise<TakenJob[]>
  /** Background work: taking over abandoned jobs, announcing lost ones again. */
  loops(kinds: readonly string[]): Loop[]
  /** Age in seconds of the oldest announcement that no executor has read. Absent: the live rows of the ledger are the queue. */
  lagSec?(kind: string): Promise<number>
  /** Throws one sentence if it cannot be used now. */
  check(): Promise<void>
  close(): Promise<void>
}

export interface TakeRequest {
  kind: string
  /** The number of free slots. */
  limit: number
  signal: AbortSignal
}

export interface TakenJob {
  job: Acquired
  /** After the commit that ended this attempt, and only if the job is done or a newer attempt owns it. Null: nothing to do. */
  acknowledge: (() => Promise<void>) | null
}
