// Jobs of a list that have changed. Most are on the newest page, which is read again. The others are read one by one: where a client
// has few among many jobs, the search for that page ends before it comes to them.
import type { PoolJobPage } from '@reeve/sdk'

const AT_ONCE = 10

type ListedJob = PoolJobPage['jobs'][number]

interface ChangedJobs {
  /** `payload`: of a message of the topic `pool_jobs`. */
  note(payload: unknown): void
  /** Of the noted ones, those that the page does not hold. `ids`: of jobs that may still change. */
  readBeyond(page: PoolJobPage, ids: readonly string[]): Promise<ListedJob[]>
}

/** `read`: null where there is no such job any more. */
export function openChangedJobs(read: (jobId: string) => Promise<ListedJob | null>): ChangedJobs {
  const noted = new Set<string>()
  return {
    note(payload) {
      for (const jobId of idsIn(payload)) noted.add(jobId)
    },
    async readBeyond({ jobs }, ids) {
      const held = new Set(jobs.map(({ job_id: jobId }) => jobId))
      const wanted = ids.filter((jobId) => noted.has(jobId) && !held.has(jobId))
      noted.clear() // what is noted from now on is read once more
      const found: ListedJob[] = []
      for (let at = 0; at < wanted.length; at += AT_ONCE) {
        const some = await Promise.all(wanted.slice(at, at + AT_ONCE).map(read))
        found.push(...some.flatMap((job) => (job === null ? [] : [job])))
      }
      return found
    },
  }
}

const idsIn = (payload: unknown): string[] =>
  typeof payload === 'object' && payload !== null && 'job_ids' in payload && Array.isArray(payload.job_ids)
    ? payload.job_ids.filter((id) => typeof id === 'string')
    : []
