// replay: a dead job is submitted again as a new job that names the old one. The old one stays dead. A second replay, or a
// concurrent one, returns the same new job: the dead row is locked first, and `replay_of` is unique.
import type { Tx } from '../../db/database.ts'
import { refused, type Refused } from '../../values/outcome.ts'
import type { Effect } from '../effects.ts'
import type { Job } from '../job.ts'
import { COLUMNS_OF_JOB, jobFrom, type JobRow } from '../read.ts'
import type { InsertOptions } from './insert-jobs.ts'
import { prepare, submitIn } from './submit.ts'

const LOCK_DEAD = `select ${COLUMNS_OF_JOB} from jobs where job_id = $1 for update`
const FIND_REPLAY = `select job_id from jobs where replay_of = $1`

/** In order of precedence. */
type ReplayRefusal = 'unknown_job' | 'not_dead'

export type ReplayAnswer = { ok: true; jobId: string; duplicate: boolean } | Refused<ReplayRefusal>

export type EffectsOfReplay = (old: Job, newJobId: string) => readonly Effect[]

/** `kind` is the kind of the new job, or null if there is none. */
export async function replay(
  tx: Tx,
  jobId: string,
  options: InsertOptions & { maxAttempts: number; effectsOf?: EffectsOfReplay | undefined },
): Promise<{ answer: ReplayAnswer; kind: string | null }> {
  const [row] = await tx.query<JobRow>(LOCK_DEAD, [jobId])
  if (row === undefined) return { answer: refused('unknown_job'), kind: null }
  if (row.state !== 'dead') return { answer: refused('not_dead'), kind: null }

  const [known] = await tx.query<{ job_id: string }>(FIND_REPLAY, [jobId])
  if (known !== undefined) return { answer: { ok: true, jobId: known.job_id, duplicate: true }, kind: null }

  const old = jobFrom(row)
  const { kind, payload, priority, maxAttempts, accountId, traceId } = old
  const trace = traceId === null ? null : { traceId }
  const job = prepare({ kind, payload, priority, maxAttempts, accountId, trace, replayOf: jobId }, options.maxAttempts)
  const effects = options.effectsOf?.(old, job.jobId) ?? []
  await submitIn(tx, [{ ...job, effects }], options)
  return { answer: { ok: true, jobId: job.jobId, duplicate: false }, kind }
}
