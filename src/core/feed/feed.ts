// The feed tells hands that something is ready. It may lose, repeat or reorder; it is never the truth: only a job that the
// ledger let somebody acquire is worked on.
import type { WithCommit } from '../events/bus.ts'
import type { Acquired } from '../ledger/job.ts'
import type { ReadyJob } from '../ledger/repair.ts'
import type { FreshJobs } from '../ledger/ledger.ts'
import type { Loop } from '../loop.ts'

export interface Feed {
  /** Called after a commit that made jobs of these kinds ready. `fresh`: just submitted here. Never waits, never throws. */
  hint(kinds: readonly string[], fresh?: FreshJobs): void
  /** The same hint, carried by the commit itself; null if it is to be given afterwards. */
  hintWithin?(kinds: readonly string[]): WithCommit | null
  /** Says again that these jobs are ready. */
  announce(jobs: readonly ReadyJob[]): Promise<void>
  /** Waits until at least one job was acquired, for a while, or until `signal` aborts. */
  take(request: TakeRequest): Promise<TakenJob[]>
  /** What runs beside it: taking over abandoned work, announcing again what was lost. */
  loops(kinds: readonly string[]): Loop[]
  /** Throws one sentence if it cannot be used now. */
  check(): Promise<void>
  close(): Promise<void>
}

export interface TakeRequest {
  kind: string
  /** As many as there are free slots, and no more. */
  limit: number
  signal: AbortSignal
}

export interface TakenJob {
  job: Acquired
  /** After the commit that ended this attempt, and only if the job is done or a newer attempt owns it. */
  acknowledge(): Promise<void>
}
