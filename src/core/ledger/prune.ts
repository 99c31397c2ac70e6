// prune: done → deleted, with its attempts, some time after its end. Of a job that stays, attempts and result may go earlier. A page of
// the oldest ids is read at a time, so that no index of the end of jobs is needed: ids begin with their time. A page is one short
// transaction that locks only what it deletes.
// Never deleted: a job that is dead or has not ended; a replay, which its dead job names; and what the job's door still refers to.
import type { Pool, Tx } from '../db/database.ts'
import { groupBy } from '../values/group-by.ts'
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

const FORGET_RESULTS = `
  update jobs set result = null where job_id = any($1::uuid[]) and state = 'done' and result is not null`

const DELETE_ATTEMPTS = `delete from attempts where job_id = any($1::uuid[])`

const FIRST = '00000000-0000-0000-0000-000000000000'

export interface KeptJobs {
  /** Done jobs. 0: for ever. */
  jobsDays: number
  /** Attempts of done jobs that are kept longer. 0: as long as the job. */
  attemptsDays: number
  /** Results of done jobs that are kept longer. 0: as long as the job. */
  resultsDays: number
}

/** Of these done jobs, those that may be deleted. Deletes what its door has stored of them. */
export type ReleaseOld = (tx: Tx, jobIds: readonly string[]) => Promise<readonly string[]>

export interface PruneOptions {
  pool: Pool
  kept: KeptJobs
  /** Kinds of this process. Jobs of others are left to processes that know them. */
  releaseOf(kind: string): ReleaseOld | null
  /** Null: results of this kind stay. */
  forgetOf(kind: string): ReleaseOld | null
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
export function openPrune(options: PruneOptions): () => Promise<Pruned> {
  const { pool, kept, now, page = PAGE_ROWS } = options
  const ages = [kept.jobsDays, kept.attemptsDays, kept.resultsDays].filter((days) => days > 0)
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
    const deleted = old.length === 0 ? 0 : await pool.transaction((tx) => prunePage(tx, old, options))
    place = seen.at(-1)?.job_id ?? place
    return { deleted, more: seen.length === page }
  }
}

type OldJob = { job_id: string; kind: string }

async function prunePage(tx: Tx, old: readonly OldJob[], { kept, releaseOf, forgetOf }: PruneOptions): Promise<number> {
  const gone = new Set(kept.jobsDays === 0 ? [] : await ofEachKind(tx, old, kept.jobsDays, releaseOf))
  if (gone.size > 0) await tx.query(DELETE_JOBS, [[...gone]])
  const stays = old.filter((job) => !gone.has(job.job_id))
  if (kept.attemptsDays > 0 && stays.length > 0) {
    const aged = await lock(tx, stays, kept.attemptsDays)
    if (aged.length > 0) await tx.query(DELETE_ATTEMPTS, [aged])
  }
  if (kept.resultsDays > 0 && stays.length > 0) {
    const forgotten = await ofEachKind(tx, stays, kept.resultsDays, forgetOf)
    if (forgotten.length > 0) await tx.query(FORGET_RESULTS, [forgotten])
  }
  return gone.size
}

/** Asks each kind about its jobs that are so old, once they are locked. */
async function ofEachKind(
  tx: Tx,
  jobs: readonly OldJob[],
  days: number,
  askOf: (kind: string) => ReleaseOld | null,
): Promise<string[]> {
  const answered: string[] = []
  for (const [kind, ofKind] of groupBy(jobs, (job) => job.kind)) {
    const ask = askOf(kind)
    if (ask === null) continue
    const locked = await lock(tx, ofKind, days)
    if (locked.length > 0) answered.push(...(await ask(tx, locked)))
  }
  return answered
}

const lock = async (tx: Tx, jobs: readonly OldJob[], days: number): Promise<string[]> =>
  (await tx.query<{ job_id: string }>(LOCK, [jobs.map((job) => job.job_id), days])).map((job) => job.job_id)
