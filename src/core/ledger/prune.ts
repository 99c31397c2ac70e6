// prune: done → deleted, with its attempts, some time after its end. A page of the oldest ids is read at a time, so that no index of
// the end of jobs is needed: ids begin with their time. A page is one short transaction that locks only what it deletes.
// Never deleted: a job that is dead or has not ended; a replay, which its dead job names; and what the job's door still refers to.
import type { Pool, Tx } from '../db/database.ts'
import { firstIdAt } from './job.ts'

const PAGE = `
  select job_id, kind,
         finished_at is not null and reason is null and replay_of is null
           and finished_at < statement_timestamp() - $3 * interval '1 day' as is_old
    from jobs where job_id > $1 and job_id < $2 order by job_id limit $4`

const LOCK = `
  select job_id from jobs
   where job_id = any($1::uuid[]) and state = 'done' and replay_of is null
     and finished_at < statement_timestamp() - $2 * interval '1 day'
   order by job_id for update skip locked`

const DELETE_JOBS = `delete from jobs where job_id = any($1::uuid[]) and state = 'done'`

const DELETE_ATTEMPTS = `delete from attempts where job_id = any($1::uuid[])`

const FIRST = '00000000-0000-0000-0000-000000000000'

export interface KeptJobs {
  /** Done jobs. 0: for ever. */
  jobsDays: number
  /** Attempts of done jobs that are kept longer. 0: as long as the job. */
  attemptsDays: number
}

/** Of these done jobs, those that may be deleted. Deletes what its door has stored of them. */
export type ReleaseOld = (tx: Tx, jobIds: readonly string[]) => Promise<readonly string[]>

export interface PruneOptions {
  pool: Pool
  kept: KeptJobs
  /** Kinds of this process. Jobs of others are left to processes that know them. */
  releaseOf(kind: string): ReleaseOld | null
  now: () => number
  page?: number
}

export interface Pruned {
  deleted: number
  /** Whether more jobs may be old enough. */
  more: boolean
}

const PAGE_ROWS = 500
const START_OVER_MS = 86_400_000

/** Each call looks at the next page. Once a day it starts over: a job may end long after others of its age. */
export function openPrune({ pool, kept, releaseOf, now, page = PAGE_ROWS }: PruneOptions): () => Promise<Pruned> {
  const ages = [kept.jobsDays, kept.attemptsDays].filter((days) => days > 0)
  const youngestDays = Math.min(...ages)
  let place = FIRST
  let startedAt = now()

  return async () => {
    if (ages.length === 0) return { deleted: 0, more: false }
    if (now() - startedAt >= START_OVER_MS) [place, startedAt] = [FIRST, now()]
    type Seen = { job_id: string; kind: string; is_old: boolean }
    const bound = firstIdAt(now() - youngestDays * 86_400_000)
    const seen = await pool.query<Seen>(PAGE, [place, bound, youngestDays, page])
    const old = seen.filter(({ is_old: isOld }) => isOld)
    const deleted = old.length === 0 ? 0 : await pool.transaction((tx) => prunePage(tx, old, kept, releaseOf))
    place = seen.at(-1)?.job_id ?? place
    return { deleted, more: seen.length === page }
  }
}

async function prunePage(
  tx: Tx,
  old: readonly { job_id: string; kind: string }[],
  { jobsDays, attemptsDays }: KeptJobs,
  releaseOf: PruneOptions['releaseOf'],
): Promise<number> {
  const gone: string[] = []
  for (const kind of jobsDays === 0 ? [] : new Set(old.map((job) => job.kind))) {
    const release = releaseOf(kind)
    if (release === null) continue
    const ids = old.filter((job) => job.kind === kind).map((job) => job.job_id)
    const locked = await tx.query<{ job_id: string }>(LOCK, [ids, jobsDays])
    if (locked.length > 0)
      gone.push(
        ...(await release(
          tx,
          locked.map((job) => job.job_id),
        )),
      )
  }
  if (gone.length > 0) await tx.query(DELETE_JOBS, [gone])
  if (attemptsDays > 0) {
    const stays = old.filter((job) => !gone.includes(job.job_id)).map((job) => job.job_id)
    const aged = await tx.query<{ job_id: string }>(LOCK, [stays, attemptsDays])
    if (aged.length > 0) await tx.query(DELETE_ATTEMPTS, [aged.map((job) => job.job_id)])
  }
  return gone.length
}
