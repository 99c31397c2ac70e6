// Ends jobs whose deadline has passed.
import type { Database } from '../../../core/db/database.ts'
import type { Loop } from '../../../core/loop.ts'
import { TIMED_OUT } from './kinds.ts'

const SELECT_OVERDUE = `
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
  name: 'time-out-pool-jobs',
  everyMs: EVERY_MS,
  isDue: `exists (select from pool_tasks where deadline_at <= statement_timestamp())`,
  async runOnce() {
    const overdue = await database.query<{ job_id: string }>(SELECT_OVERDUE, [BATCH])
    await Promise.all(overdue.map((row) => cancel(row.job_id, TIMED_OUT)))
    return false
  },
})
