// Jobs that were not done in time are ended: nobody waits for them any more.
import type { Database } from '../../../core/db/database.ts'
import type { Loop } from '../../../core/loop.ts'
import { TIMED_OUT } from './kinds.ts'

const OVERDUE = `
  select distinct coalesce(quorum_id, job_id) as job_id
    from (select quorum_id, job_id from pool_tasks
           where deadline_at <= statement_timestamp() order by deadline_at limit $1) as overdue`

const EVERY_MS = 1000
const BATCH = 500

export interface DeadlineDeps {
  database: Database
  cancel(jobId: string, reason: string): Promise<unknown>
}

export const openDeadlines = ({ database, cancel }: DeadlineDeps): Loop => ({
  name: 'end pool jobs that are out of time',
  everyMs: EVERY_MS,
  async runOnce() {
    const overdue = await database.query<{ job_id: string }>(OVERDUE, [BATCH])
    await Promise.all(overdue.map((row) => cancel(row.job_id, TIMED_OUT)))
    return false
  },
})
