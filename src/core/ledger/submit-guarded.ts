// A submit for a door whose own rows decide which jobs there will be: one statement writes both, and one commit keeps them. A
// transaction would cost a round trip for each of its statements, on the way of every request.
import type { Queryable } from '../database.ts'
import { ANNOUNCED, INSERT_ANNOUNCEMENTS, INSERT_JOBS, jobRow, type PreparedJob, type SubmitOptions } from './submit.ts'

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
export function submitGuarded<Answer extends object>(
  on: Queryable,
  { tables, answer }: Guard,
  asked: readonly Guarded<PreparedJob>[],
  options: SubmitOptions,
): Promise<Answer[]> {
  const insert = `${INSERT_JOBS} join accepted using (job_id)`
  const params = [JSON.stringify(asked.map(({ job, more }) => ({ ...jobRow(job), ...more }))), options.ageingSec]
  if (!options.announceByOutbox) return on.query(`with ${tables}, job as (${insert}) ${answer}`, params)
  return on.query(
    `with ${tables}, job as (${insert} returning ${ANNOUNCED}), announced as (${INSERT_ANNOUNCEMENTS}) ${answer}`,
    [...params, options.outboxGraceMs ?? 0],
  )
}
