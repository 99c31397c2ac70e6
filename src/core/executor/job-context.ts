// What belongs to a job beside its own row: how far it is, the jobs that it waits for and those that wait for it, the receipts of its
// results. The door of its kind knows.
import { groupBy } from '../values/group-by.ts'
import type { Kinds } from './endings.ts'
import type { WatchedJob } from './kind.ts'

export interface JobContext {
  /** While it has not ended. */
  progress: JobProgress | null
  /** Jobs that must end first. */
  waitsFor: readonly string[]
  /** Jobs that wait for its end. */
  dependents: readonly string[]
  /** Signed, as the door shows them to the client of the job. */
  receipts: readonly object[]
}

export interface JobProgress {
  done: number
  /** Null: not known yet. */
  total: number | null
  /** What is counted, in the plural: tests, results, ticks. */
  unit: string
}

const NO_CONTEXT: JobContext = { progress: null, waitsFor: [], dependents: [], receipts: [] }

/** Of all these jobs: one question to each kind. */
export async function contextsOf(kinds: Kinds, jobs: readonly WatchedJob[]): Promise<Map<string, JobContext>> {
  const byKind = [...groupBy(jobs, ({ kind }) => kind)]
  const found = await Promise.all(byKind.map(([kind, group]) => kinds.get(kind)?.contextOf?.(group) ?? NOTHING))
  const known = new Map(found.flatMap((contexts) => [...contexts]))
  return new Map(jobs.map(({ jobId }) => [jobId, { ...NO_CONTEXT, ...known.get(jobId) }]))
}

const NOTHING: ReadonlyMap<string, Partial<JobContext>> = new Map()
