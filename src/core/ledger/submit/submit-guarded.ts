// A submit for a door whose own rows decide which jobs there will be: one statement writes both, and one commit keeps them. A
// transaction would cost a round trip for each of its statements, on the way of every request.
import type { Queryable } from '../../db/database.ts'
import { jsonParam } from '../../db/params.ts'
import { ANNOUNCED, INSERT_JOB_ROWS, insertAnnouncements, jobRow, type InsertOptions } from './insert-jobs.ts'
import type { PreparedJob } from './submit.ts'

export interface Guard {
  /** Common table expressions over the rows `$1`. One of them is `accepted`, with no column but job_id. */
  tables: string
  /** The end of the statement: a select from them. */
  answer: string
}

export interface Guarded<Job> {
  job: Job
  /** What the guard reads of it, beside what every job has. */
  more: object
}

/** Makes the jobs that the guard accepts, and returns what it answers. */
export function openGuarded<Answer extends object>(
  { tables, answer }: Guard,
  { ageingSec, announceByOutbox }: InsertOptions,
): (on: Queryable, asked: readonly Guarded<PreparedJob>[]) => Promise<Answer[]> {
  const insert = `${INSERT_JOB_ROWS} join accepted using (job_id)`
  const inserts = announceByOutbox
    ? `job as (${insert} returning ${ANNOUNCED}), announced as (${insertAnnouncements('$3')})`
    : `job as (${insert})`
  const sql = `with ${tables}, ${inserts} ${answer}`
  const further = announceByOutbox ? [ageingSec, 0] : [ageingSec]
  return async (on, asked) => {
    const rows = await jsonParam(asked.map(({ job, more }) => ({ ...jobRow(job), ...more })))
    return on.query<Answer>(sql, [rows, ...further])
  }
}
