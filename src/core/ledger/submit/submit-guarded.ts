// submit for a door whose own rows decide which jobs are created. The door's rows and the jobs are written by one statement
// and one commit; a transaction would add a round trip for each of its statements to every request.
//
// The door writes that statement, from `with` to its answer, around two parts of the ledger:
//
//   with asked as materialized (select … from ${requests}),   one row per request, with all columns of `requests`
//        …
//        accepted as (insert … returning job_id),              the door's own rows
//        ${createJobs}                                         a job for every request whose job_id is in `accepted`
//   select … from asked order by place                         an answer for each request
//
// Where a part asks whether a row is among those of another, it does so by `(… in (select …)) is true`: PostgreSQL makes a
// hash of that, where for a join it would compare every row with every other (hash joins are off, database.ts).
import type { Queryable } from '../../db/database.ts'
import { FEED_TOPIC, insertJobsFrom, JOB_ARRAYS, JOB_COLUMNS, jobParams, type InsertOptions } from './insert-jobs.ts'
import { writeLargePayloads } from './payload-texts.ts'
import type { PreparedJob } from './submit.ts'

const JOB_PARAMS = 10

const CREATE_JOBS = `job as (
  ${insertJobsFrom('asked where (job_id in (select job_id from accepted)) is true')}
    returning job_id, kind, priority, due_at
  )`

const CREATE_JOBS_AND_OUTBOX = `${CREATE_JOBS}, announced as (
    insert into outbox_events (job_id, topic, payload, next_attempt_at)
    select job_id, '${FEED_TOPIC}', json_build_object('kind', kind, 'priority', priority),
           coalesce(due_at, clock_timestamp())
      from job
  )`

export interface GuardedStatement<Column extends string> {
  /** The door's own columns of a request, with their types. */
  columns: Readonly<Record<Column, string>>
  sql(parts: GuardedParts): string
}

/** The ledger's parts of the statement. */
export interface GuardedParts {
  requests: string
  createJobs: string
}

export interface GuardedJobs<Job, Column extends string> {
  jobs: readonly Job[]
  /** Arrays as parameters, with a value for each of the jobs (core/db/params.ts). */
  columns: Readonly<Record<Column, unknown>>
}

export function openGuarded<Answer extends object, Column extends string>(
  { columns, sql }: GuardedStatement<Column>,
  { ageingSec, announceByOutbox }: InsertOptions,
): (on: Queryable, asked: GuardedJobs<PreparedJob, Column>) => Promise<Answer[]> {
  const names = Object.keys(columns).filter((name): name is Column => name in columns)
  const statement = sql({
    requests: requestsWith(names.map((name) => ({ name, type: columns[name] }))),
    createJobs: announceByOutbox ? CREATE_JOBS_AND_OUTBOX : CREATE_JOBS,
  })
  return async (on, { jobs, columns: values }) => {
    const written = await writeLargePayloads(jobs)
    const params = [...jobParams({ jobs, written }, ageingSec), ...names.map((name) => values[name])]
    return on.query<Answer>(statement, params)
  }
}

function requestsWith(columns: readonly { name: string; type: string }[]): string {
  const arrays = columns.map(({ type }, index) => `$${JOB_PARAMS + 1 + index}::${type}[]`).join(', ')
  const names = columns.map(({ name }) => name).join(', ')
  return `rows from (${JOB_ARRAYS}, unnest(${arrays})) with ordinality as r (${JOB_COLUMNS}, ${names}, place)`
}
