// The insert that every submit ends in, and the announcement that goes with it.
//
// With PostgreSQL as the feed the pending row itself is what the hands look for, and a second row would only be written to be
// deleted. With Redis as the feed the announcement is a row of the outbox and commits with the job: one for each job, or one
// for all that a statement inserts where nothing but the process that submits them needs it.
import { numbersParam, textsParam } from '../../db/params.ts'
import type { Queryable } from '../../db/database.ts'
import { storableJson } from '../../db/params.ts'
import { rankSql } from '../rank.ts'
import type { PreparedJob } from './submit.ts'

const insertJobs = (rows: string): string => `
  insert into jobs (job_id, kind, priority, rank, due_at, payload, max_attempts, account_id, trace_id, replay_of)
  select job_id, kind, priority,
         ${rankSql('priority', 'delay_ms', '$2')},
         case when delay_ms > 0 then clock_timestamp() + delay_ms * interval '1 ms' end,
         coalesce(payload, 'null'::json), max_attempts, account_id, trace_id, replay_of
    from ${rows}`

/** Rows that carry more than the job: `$1` is an array of objects. */
export const INSERT_JOB_ROWS = insertJobs(`
         json_to_recordset($1) as r (job_id uuid, kind text, priority integer, delay_ms bigint, payload json,
         max_attempts integer, account_id bigint, trace_id text, replay_of uuid)`)

// A parameter per column: PostgreSQL reads them in half the time. What is null for all is an array less to read.
const INSERT_JOBS = insertJobs(`
         rows from (json_array_elements($1), unnest($3::uuid[], $4::text[], $5::integer[], $6::bigint[], $7::integer[],
         $8::bigint[], $9::text[], $10::uuid[])) as r (payload, job_id, kind, priority, delay_ms, max_attempts,
         account_id, trace_id, replay_of)`)

export const ANNOUNCED = 'job_id, kind, priority, due_at'
export const insertAnnouncements = (graceMs: string): string => `
  insert into outbox_events (job_id, topic, payload, next_attempt_at)
  select job_id, 'feed', json_build_object('kind', kind, 'priority', priority),
         coalesce(due_at, clock_timestamp() + ${graceMs} * interval '1 ms')
    from job`
const INSERT_JOBS_AND_OUTBOX = `with job as (${INSERT_JOBS} returning ${ANNOUNCED}) ${insertAnnouncements('$11')}`

/** The topic of rows that stand for many jobs, each under the id of its first. */
export const BATCH_TOPIC = 'feed_batch'
const INSERT_JOBS_AND_BATCH = `
  with job as (${INSERT_JOBS})
  insert into outbox_events (job_id, topic, payload, next_attempt_at)
  values (($3::uuid[])[1], '${BATCH_TOPIC}', to_json($3::uuid[]), clock_timestamp() + $11 * interval '1 ms')`

export interface InsertOptions {
  ageingSec: number
  announceByOutbox: boolean
  /** How long the outbox holds back: so long has whoever submits to announce the job itself, and take the row away. */
  outboxGraceMs?: number
  /** Only for jobs that are ready at once: one row of the outbox for all of them. */
  together?: boolean
}

export async function insert(on: Queryable, jobs: readonly PreparedJob[], options: InsertOptions): Promise<void> {
  if (jobs.length === 0) return
  const { ageingSec, announceByOutbox, outboxGraceMs = 0, together = false } = options
  const params = [storableJson(jobs.map(({ payload }) => payload ?? null)), ageingSec, ...columnsOf(jobs)]
  if (!announceByOutbox) await on.query(INSERT_JOBS, params)
  else await on.query(together ? INSERT_JOBS_AND_BATCH : INSERT_JOBS_AND_OUTBOX, [...params, outboxGraceMs])
}

const columnsOf = (jobs: readonly PreparedJob[]) => [
  textsParam(jobs.map(({ jobId }) => jobId)),
  textsParam(jobs.map(({ kind }) => kind)),
  numbersParam(jobs.map(({ priority }) => priority)),
  numbersParam(jobs.map(({ delayMs }) => delayMs)),
  nullable(jobs.map(({ maxAttempts }) => maxAttempts)),
  nullable(jobs.map(({ accountId }) => accountId)),
  nullable(jobs.map(({ traceId }) => traceId)),
  nullable(jobs.map(({ replayOf }) => replayOf)),
]

const nullable = <T>(column: readonly (T | null)[]): readonly (T | null)[] | null =>
  column.some((value) => value !== null) ? column : null

/** What INSERT_JOB_ROWS reads of each. What is null is left out: PostgreSQL reads the same, and nothing has to be parsed. */
export const jobRow = (job: PreparedJob) => ({
  job_id: job.jobId,
  kind: job.kind,
  priority: job.priority,
  delay_ms: job.delayMs,
  payload: job.payload ?? undefined,
  max_attempts: job.maxAttempts ?? undefined,
  account_id: job.accountId ?? undefined,
  trace_id: job.traceId ?? undefined,
  replay_of: job.replayOf ?? undefined,
})
